// Every text that a request may have is under the rule for texts that others read, or is named here
// with the reason why it isn't.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <map>
#include <set>

#include "api/gate/schema.h"
#include "api/gate/validator.h"
#include "controller/base/container_spec.h"
#include "controller/base/visible_text.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

const std::string secret = "a secret: it is compared with a hash, or a hash of it is kept";
const std::string compared = "compared with what is stored or known, and not kept";
const std::string sealed = "a secret of the container's, encrypted and given to it as it is";

const std::string of_tokens = "compared with what tokens say; the domain refuses controls";

// The texts of bodies to which the rule doesn't apply: schema and field.
const std::map<std::string, std::string> raw_texts = {
    {"AdEventRequest.impression_token", compared},
    {"AddIssuerRequest.issuer", "compared with what tokens say; the domain takes visible ASCII"},
    {"AddIssuerRequest.jwks_uri", "a URL that berthd calls; the domain takes visible ASCII"},
    {"CreateCreativeRequest.image", "a file in base64, of which only the pixels are kept"},
    {"BudgetRequest.password", secret},
    {"ChangeAppVariablesRequest.variables.*", sealed},
    {"ChangeDeploymentRequest.env.*", sealed},
    {"ChangeDeploymentRequest.env_vars.*", sealed},
    {"ChangeDeploymentRequest.registry_credentials.password", sealed},
    {"ChangeDeploymentRequest.registry_credentials.username", sealed},
    {"ChangePasswordRequest.current_password", secret},
    {"ChangePasswordRequest.new_password", secret},
    {"ClientTokenRequest.client_id", compared},
    {"ClientTokenRequest.client_secret", secret},
    {"ClientTokenRequest.token", secret},
    {"ClientTokenRequest.token_type_hint", compared},
    {"CreateDeploymentRequest.env.*", sealed},
    {"CreateDeploymentRequest.env_vars.*", sealed},
    {"CreatePreviewRequest.env_vars.*", sealed},
    {"CreateDeploymentRequest.registry_credentials.password", sealed},
    {"CreateDeploymentRequest.registry_credentials.username", sealed},
    {"CreateTrustRequest.audience", of_tokens},
    {"CreateTrustRequest.claims.*", of_tokens},
    {"CreateTrustRequest.claims.*.0", of_tokens},
    {"CreateTrustRequest.issuer", compared},
    {"DeviceAuthorizationRequest.client_id", compared},
    {"DeviceAuthorizationRequest.scope", compared},
    {"DisableTotpRequest.password", secret},
    {"DryRunRequest.operations.0.change.env.*", sealed},
    {"DryRunRequest.operations.0.change.env_vars.*", sealed},
    {"DryRunRequest.operations.0.change.registry_credentials.password", sealed},
    {"DryRunRequest.operations.0.change.registry_credentials.username", sealed},
    {"DryRunRequest.operations.0.create.env.*", sealed},
    {"DryRunRequest.operations.0.create.env_vars.*", sealed},
    {"DryRunRequest.operations.0.create.registry_credentials.password", sealed},
    {"DryRunRequest.operations.0.create.registry_credentials.username", sealed},
    {"EmailChangeRequest.password", secret},
    {"EmailRequest.email", "compared with addresses: the answer must not tell what is wrong"},
    {"EnableTotpRequest.password", secret},
    {"LoginRequest.email", "compared with addresses: the answer must not tell what is wrong"},
    {"LoginRequest.password", secret},
    {"OAuthTokenRequest.audience", compared},
    {"MakePersonalTokenRequest.password", secret},
    {"OAuthTokenRequest.client_id", compared},
    {"OAuthTokenRequest.client_secret", secret},
    {"OAuthTokenRequest.code", secret},
    {"OAuthTokenRequest.code_verifier", secret},
    {"OAuthTokenRequest.device_code", secret},
    {"OAuthTokenRequest.grant_type", compared},
    {"OAuthTokenRequest.redirect_uri", compared},
    {"OAuthTokenRequest.refresh_token", secret},
    {"OAuthTokenRequest.requested_token_type", compared},
    {"OAuthTokenRequest.resource", compared},
    {"OAuthTokenRequest.scope", compared},
    {"OAuthTokenRequest.subject_token", secret},
    {"OAuthTokenRequest.subject_token_type", compared},
    {"PasswordRequest.password", secret},
    {"ProofRequest.password", secret},
    {"GuestRequest.client_id", compared},
    {"GuestRequest.client_secret", secret},
    {"UpgradeGuestRequest.password", secret},
    {"GuestMergePreviewRequest.guest_token", secret},
    {"MergeGuestRequest.guest_token", secret},
    {"MergeGuestRequest.password", secret},
    {"MergeGuestRequest.preview", compared},
    {"RefreshRequest.client_id", compared},
    {"RefreshRequest.client_secret", secret},
    {"RefreshRequest.refresh_token", secret},
    {"RegisterRequest.password", secret},
    {"RemovePasskeyRequest.password", secret},
    {"ReportTokenRequest.token", secret},
    {"ResetPasswordRequest.password", secret},
    {"ResetPasswordRequest.token", secret},
    {"StepUpRequest.password", secret},
    {"TokenRequest.token", secret},
    {"TransferAppRequest.password", secret},
};

// An argument of a program is given to it as it is; the domain refuses controls but tabs and line
// ends in it.
std::set<std::string> arguments() {
  std::set<std::string> names = {"CreateRunRequest.command.0"};
  for (const std::string body :
       {"CreateDeploymentRequest.", "ChangeDeploymentRequest.",
        "DryRunRequest.operations.0.create.", "DryRunRequest.operations.0.change."}) {
    for (const auto& field : deployments::container_fields)
      if (field.kind() == deployments::ContainerField::Kind::texts)
        names.insert(body + std::string(field.name) + ".0");
    for (const char* words : {"processes.*.command.0", "processes.*.args.0", "crons.0.command.0"})
      names.insert(body + words);
  }
  return names;
}

// Bodies that the handler checks instead of the gate; the case below tries them by themselves.
const std::set<std::string> checked_by_handlers = {"spendPoints"};

struct Text {
  std::string schema;
  std::string name;               // schema and field, with dots
  std::vector<std::string> path;  // "*": any name, "0": any place of a list
  json description;
};

bool takes(const json& schema, const char* type) {
  const json types = schema.value("type", json("object"));
  return types == type || (types.is_array() && std::ranges::find(types, json(type)) != types.end());
}

void collect(const Text& at, std::vector<Text>& found) {
  const json& schema = at.description;
  if (takes(schema, "string")) found.push_back(at);
  const auto below = [&](const std::string& step, const json& description) {
    Text text = {at.schema, at.name + "." + step, at.path, description};
    text.path.push_back(step);
    collect(text, found);
  };
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, field] : properties.items()) below(name, field);
  if (schema.contains("items")) below("0", schema["items"]);
  if (schema.contains("additionalProperties")) below("*", schema["additionalProperties"]);
  // Whatever no schema describes.
  if (takes(schema, "object") && !schema.contains("properties") &&
      !schema.contains("additionalProperties"))
    below("anything", {{"type", "string"}});
}

std::vector<Text> all_texts() {
  std::set<std::string> names;
  for (const Route& route : routes())
    if (route.has_body()) names.insert(std::string(route.body.schema));
  std::vector<Text> found;
  for (const std::string& name : names) collect({name, name, {}, inlined_schema(name)}, found);
  return found;
}

json around(const std::vector<std::string>& path, const json& value) {
  json result = value;
  for (auto step = path.rbegin(); step != path.rend(); ++step)
    result = *step == "0" ? json::array({result}) : json{{*step == "*" ? "NAME" : *step, result}};
  return result;
}

// What the validator says about the field at the path, or about what it is in.
std::string reasons(const Validator& validator, const Text& text, const std::string& value) {
  json body = around(text.path, value);
  validator.normalize(body);
  std::string all;
  const Details wrong = validator.check(body);
  for (const auto& [field, why] : wrong)
    if (why.front() != "is required") all += field + " " + why.front() + "\n";
  return all;
}

// A text that the field's own limits don't refuse where that is possible.
std::string long_enough(const json& schema, const std::string& part) {
  std::string text = part;
  while (text.size() < schema.value("minLength", size_t(0))) text += "x";
  return text;
}

}  // namespace

TEST_CASE("every text of every body is under the rule for texts that others read, or named here") {
  const std::vector<std::string> deceiving = {"a\x1b[2Jb", "a\u202eb", "a\u202db", "a\x07",
                                              "a\u0085b"};
  const std::vector<Text> texts = all_texts();
  std::set<std::string> raw;
  size_t ruled = 0;
  for (const Text& text : texts) {
    INFO(text.name);
    const Validator validator(text.schema);
    const bool is_raw = text.description.value("x-text", "") == "raw";
    if (is_raw) raw.insert(text.name);
    if (is_raw) continue;
    ++ruled;
    for (const std::string& bad : deceiving)
      CHECK(reasons(validator, text, long_enough(text.description, bad)) != "");
    CHECK(reasons(validator, text, long_enough(text.description, std::string("a\0b", 3))) != "");
    if (text.description.value("x-text", "") != "lines")
      CHECK(reasons(validator, text, long_enough(text.description, "a\nb")) != "");
    CHECK(reasons(validator, text, std::string(8, ' ')) != "");
  }
  std::set<std::string> named = arguments();
  for (const auto& [name, reason] : raw_texts) named.insert(name);
  CHECK(raw == named);
  CHECK(ruled + raw.size() == texts.size());
  std::cout << "texts of bodies: " << texts.size() << ", of which " << ruled
            << " are under the rule and " << raw.size() << " are named\n";
  CHECK(ruled > 100);
}

TEST_CASE("texts are composed before they are checked and stored") {
  size_t composed_ones = 0;
  for (const Text& text : all_texts()) {
    const json& schema = text.description;
    if (schema.value("x-text", "") == "raw" || schema.contains("enum") ||
        schema.contains("pattern") || schema.contains("format"))
      continue;
    INFO(text.name);
    const std::string typed = long_enough(schema, "bu\u0308cher");
    json body = around(text.path, typed);
    Validator(text.schema).normalize(body);
    CHECK(body == around(text.path, composed(typed)));
    ++composed_ones;
  }
  CHECK(composed_ones > 50);
}

TEST_CASE("no parameter of a query has controls, but OAuth's, which go back as they came") {
  GateWorld g;
  const auto user = g.world.verified_user("ada");
  const ScopeSet scopes = [] {
    ScopeSet all;
    for (const ScopeInfo& scope : all_scopes()) all.add(scope.scope);
    return all;
  }();
  const auto app = g.world.approved_app(user, scopes);
  const auto tokens = g.world.tokens(app, user, scopes.text());
  const std::vector<std::vector<Header>> callers = {{bearer(g.world.jwt(user))},
                                                    {bearer(tokens.access_token)},
                                                    {bearer(*tokens.session_token)},
                                                    g.admin};
  size_t walked = 0;
  for (const Route& route : routes()) {
    std::vector<Param> params;
    for (const auto part : params_of(route)) params.insert(params.end(), part.begin(), part.end());
    for (const Param& param : params) {
      // Words of commands may have any character.
      if (param.kind == Kind::integer || param.kind == Kind::words || is_oauth(route.guards.shape))
        continue;
      INFO(route.name << "?" << param.name);
      const std::string target =
          path_with(route, app.id) + "?" + std::string(param.name) + "=a%1B%E2%80%AEb";
      CHECK(std::ranges::any_of(callers, [&](const auto& caller) {
        const Response answer = g.respond(std::string(route.method()), target, caller);
        return answer.status == 422 && answer.body.find("control characters") != std::string::npos;
      }));
      ++walked;
    }
  }
  std::cout << "parameters of queries under the rule: " << walked << "\n";
  CHECK(walked > 40);
}

TEST_CASE("what a user has spent points for is under the rule, too") {
  CHECK(checked_by_handlers.size() == 1);
  for (const Route& route : routes())
    CHECK((route.body.check == Body::Check::by_handler) ==
          checked_by_handlers.contains(std::string(route.name)));
  GateWorld g;
  const auto ada = g.world.verified_user("ada");
  const auto app = g.world.approved_app(ada, {Scope::points_spend});
  const auto token = bearer(g.world.tokens(app, ada, "points:spend").access_token);
  for (const char* bad : {"gold\u202edlog", "gold\ncoin", "   ", "a\x1b[2Jb"}) {
    const auto answer = g.ask("POST", "/api/external/points/spend", {token},
                              json{{"amount", 1}, {"description", bad}}.dump());
    CHECK(answer.status == 422);
    CHECK(answer.text.find("description") != std::string::npos);
  }
}

TEST_CASE("nobody names an app or an avatar so that it could pass for the platform's") {
  GateWorld g;
  const auto ada = g.world.verified_user("ada");
  const Header jwt = bearer(g.world.jwt(ada));
  const auto create = [&](const std::string& name) {
    return g.ask(
        "POST", "/api/oauth/apps", {jwt},
        json{{"app_name", name}, {"redirect_uris", {"https://game.example.org/cb"}}}.dump());
  };
  const std::vector<std::string> refused = {
      "berth",          "b\u0435rth", "berth official",
      "Berth Team",     "   ",        "My\u202egame",
      "My game\x1b[2J", "My\ngame",   std::string("My\0game", 7),
      "\u200b"};
  for (const std::string& name : refused) {
    INFO(name);
    const auto answer = create(name);
    CHECK(answer.status == 422);
    CHECK(answer.text.find("app_name") != std::string::npos);
  }
  const auto created = create("Harbour Berths Ltd");
  REQUIRE(created.status == 201);
  const std::string id = created.body["app"]["id"];
  for (const std::string& name : refused)
    CHECK(g.ask("PUT", "/api/operator/apps/" + id, {jwt}, json{{"app_name", name}}.dump()).status ==
          422);
  // A name that an app has already stays.
  g.world.write(
      [&](db::Tx& tx) { tx.execute("UPDATE apps SET app_name = 'berth' WHERE id = $1", id); });
  CHECK(g.ask("PUT", "/api/operator/apps/" + id, {jwt},
              json{{"app_name", "berth"}, {"app_description", "x"}}.dump())
            .status == 200);
  for (const char* name : {"berth", "berth-team", "b\u0435rth"})
    CHECK(g.ask("PUT", "/api/avatars/me", {jwt}, json{{"display_name", name}}.dump()).status ==
          422);
  CHECK(g.ask("PUT", "/api/avatars/me", {jwt}, R"({"display_name": "Ada"})").status == 200);
  const json look = {{"appearance", {{"hat", {"a\u202eb"}}}}};
  CHECK(g.ask("PUT", "/api/avatars/me", {jwt}, look.dump()).status == 422);
}
