// Every operation, asked by everybody with everything that they can show: who gets in is what the
// published document says. Admins of the platform have a matrix of their own (admin_roles_test).
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <iostream>

#include "api/gate/authenticate.h"
#include "api/gate/openapi.h"
#include "controller/base/ascii.h"
#include "controller/domain/apps/built_in.h"
#include "controller/domain/oauth/device.h"
#include "controller/domain/oauth/personal_tokens.h"
#include "controller/domain/oauth/trusts.h"
#include "tests/api/gate/members.h"
#include "tests/api/gate_world.h"
#include "tests/id_token_signer.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using apps::Role;

// What a caller shows. The first group is a person's own, the second one an app's.
enum class Shows {
  nothing,
  cookie,       // of the console
  session_jwt,  // in the Authorization field
  client_token,
  personal_token,
  token_of_deployment,  // a personal token for one deployment

  app_token,  // which the person has allowed the app
  session_token,
  client_credentials,
  ci_token,  // by a trust in one deployment
};
constexpr std::array names_of_shown = {"nothing",        "cookie",        "session JWT",
                                       "client token",   "personal",      "personal of deployment",
                                       "app token",      "session token", "client credentials",
                                       "exchanged token"};

struct Credential {
  Shows kind = Shows::nothing;
  std::string token = {};
  ScopeSet scopes = {};  // of the token
};

struct Person {
  std::string name;
  accounts::User user;
  std::optional<Role> role = {};  // nothing for strangers
  bool is_limited = false;        // to one deployment
  std::vector<Credential> credentials = {};
};

ScopeSet every_scope() {
  ScopeSet scopes;
  for (const ScopeInfo& scope : all_scopes()) scopes.add(scope.scope);
  return scopes;
}

// No program of a person moves their points in an app's name: nobody limits what it may spend.
const ScopeSet moves_points = {Scope::points_spend, Scope::points_transfer, Scope::points_award};

// An app with a deployment, and everybody who could call for it.
struct Everybody {
  GateWorld g;
  accounts::User ada = g.world.verified_user("ada");
  apps::App app = g.world.approved_app(ada, every_scope());
  deployments::Deployment shop = g.world.deploy(app, berth::test::order());
  std::vector<Person> people;

  Everybody() {
    g.world.write([](db::Tx& tx) { apps::add_built_in(tx); });
    people.push_back({.name = "nobody", .user = ada, .credentials = {Credential{}}});
    people.push_back({.name = "the owner", .user = ada, .role = Role::owner});
    for (const Role role : {Role::viewer, Role::billing, Role::developer, Role::admin, Role::owner})
      people.push_back(member("member" + std::string(to_string(role)), role));
    people.push_back(member("limited", Role::developer, std::vector{shop.id}));
    people.push_back({.name = "a stranger", .user = g.world.verified_user("stranger")});
    Person removed = member("removed", Role::owner);
    g.world.write(
        [&](db::Tx& tx) { apps::remove_member(tx, change_by(g, ada), app.id, removed.user.id); });
    removed.role.reset();
    people.push_back(std::move(removed));
    for (Person& one : people)
      if (one.name != "nobody") give_credentials(one);
    people.push_back({.name = "the app",
                      .user = ada,
                      .role = Role::owner,
                      .credentials = {client_credentials(), ci_token()}});
  }

  Person member(const std::string& name, Role role,
                const std::optional<std::vector<std::string>>& deployments = {}) {
    Person one = {.name = name,
                  .user = g.world.verified_user(name),
                  .role = role,
                  .is_limited = deployments.has_value()};
    add_member(g, app, ada, one.user, role, deployments);
    return one;
  }

  void give_credentials(Person& one) {
    const std::string jwt = g.world.jwt(one.user);
    one.credentials = {{Shows::cookie, jwt},
                       {Shows::session_jwt, jwt},
                       client_token(one.user),
                       personal_token(one.user, Shows::personal_token),
                       personal_token(one.user, Shows::token_of_deployment)};
    const bool is_owner = one.user.id == ada.id;
    const ScopeSet scopes =
        is_owner ? app.approved_scopes : app.approved_scopes - ScopeSet::operators();
    const auto tokens = g.world.tokens(app, one.user, scopes.text());
    one.credentials.push_back({Shows::app_token, tokens.access_token, tokens.scopes});
    one.credentials.push_back({Shows::session_token, tokens.session_token.value()});
  }
  Credential client_token(const accounts::User& user) {
    const ScopeSet scopes =
        every_scope() - ScopeSet::identity() - ScopeSet{Scope::points_spend, Scope::points_award};
    const auto codes =
        g.ask("POST", "/api/oauth/device_authorization", {},
              json{{"client_id", apps::built_in_client_id}, {"scope", scopes.text()}}.dump())
            .body;
    const bool allowed = g.world.write([&](db::Tx& tx) {
      return oauth::decide_device_request(tx, user, codes.at("user_code"),
                                          oauth::DeviceDecision::allow, g.world.keys.data);
    });
    REQUIRE(allowed);
    const auto given = g.ask("POST", "/api/oauth/token", {},
                             json{{"grant_type", "urn:ietf:params:oauth:grant-type:device_code"},
                                  {"device_code", codes.at("device_code")},
                                  {"client_id", apps::built_in_client_id}}
                                 .dump());
    REQUIRE(given.status == 200);
    return {Shows::client_token, given.body.at("access_token"),
            parse_scopes(given.body.at("scope").get<std::string>()).value()};
  }
  Credential personal_token(const accounts::User& user, Shows kind) {
    personal_tokens::Wanted wanted = {.name = "CI", .scopes = personal_tokens::possible_scopes()};
    if (kind == Shows::token_of_deployment) {
      wanted.scopes = wanted.scopes - ScopeSet{Scope::admin};  // which is for no app
      wanted.app_id = app.id;
      wanted.deployment_id = shop.id;
    }
    const auto made = g.world.write([&](db::Tx& tx) {
      return personal_tokens::make(tx, user, wanted, g.world.keys, g.services.base_url);
    });
    return {kind, made.secret, wanted.scopes};
  }
  Credential client_credentials() {
    const auto tokens =
        g.world.write([&](db::Tx& tx) { return oauth::client_credentials(tx, app, {}); });
    return {Shows::client_credentials, tokens.access_token, tokens.scopes};
  }
  Credential ci_token() {
    const std::string issuer = "https://token.actions.githubusercontent.com";
    const berth::test::IdTokenSigner signer(jwk::Algorithm::eddsa);
    const ScopeSet scopes = app.approved_scopes - moves_points - ScopeSet::identity();
    oauth::TrustOrder order = {.name = "",
                               .issuer = issuer,
                               .audience = g.services.base_url,
                               .claims = {{"repository_id", {"123"}}},
                               .deployments = {shop.id},
                               .scopes = {}};
    for (const std::string_view name : scopes.names()) order.scopes.emplace_back(name);
    g.world.write([&](db::Tx& tx) {
      oauth::add_issuer(tx, {.issuer = issuer, .name = "CI", .kind = oauth::IssuerKind::github},
                        oauth::IssuerSchemes::only_https, "root");
      oauth::create_trust(tx, app, order);
    });
    const std::int64_t now =
        std::chrono::floor<std::chrono::seconds>(g.world.clock.now()).time_since_epoch().count();
    const std::string id_token = signer.sign({{"iss", issuer},
                                              {"aud", g.services.base_url},
                                              {"sub", "repo:acme/shop"},
                                              {"jti", "1"},
                                              {"iat", now},
                                              {"exp", now + 300},
                                              {"repository_id", "123"}});
    const auto shown =
        g.world.read([&](db::Tx& tx) { return oauth::read_id_token(tx, app.client_id, id_token); });
    const auto verified = oauth::verify_id_token(shown, signer.key(), g.world.clock.now());
    const auto tokens =
        g.world.write([&](db::Tx& tx) { return oauth::exchange_id_token(tx, verified, {}); });
    return {Shows::ci_token, tokens.access_token, tokens.scopes};
  }

  PathValues path(const Route& route) const {
    PathValues values;
    const auto names = placeholders_in(route.path());
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string_view component = route.in_path[i]->component;
      const bool is_app = component == "OwnAppId" || component == "MyAppId";
      values.emplace(names[i], is_app ? app.id : component == "DeploymentId" ? shop.id : ada.id);
    }
    return values;
  }
  // Why the token is refused when it is checked by itself; empty if it isn't. So no operation is
  // carried out.
  std::string refusal(const Route& route, const Credential& credential) {
    const Shown shown = {
        .token = credential.token, .is_console = credential.kind == Shows::cookie, .app = app.id};
    return berth::test::refusal([&] {
      g.world.read([&](db::Tx& tx) { check_bearer(tx, route, path(route), shown, g.services); });
    });
  }
  // The status of a request, for those that mustn't get as far as the operation.
  int status(const Route& route, const Credential& credential) {
    std::string target(route.path());
    for (const auto& [name, value] : path(route)) {
      const std::string placeholder = "{" + name + "}";
      target.replace(target.find(placeholder), placeholder.size(), value);
    }
    std::vector<Header> headers = {{"Berth-App", app.id}};
    if (credential.kind == Shows::cookie)
      headers.insert(headers.end(), {{"Cookie", "__Host-berth_session=" + credential.token},
                                     {"Sec-Fetch-Site", "same-origin"},
                                     {"Berth-Console", "1"}});
    else if (credential.kind != Shows::nothing)
      headers.push_back(bearer(credential.token));
    return g.respond(std::string(route.method()), target, headers).status;
  }
};

// What the document says of an operation.
struct Published {
  bool is_open = false, is_internal = false;
  bool takes_cookie = false, takes_session = false, takes_session_token = false;
  bool takes_oauth = false;
  std::vector<Scope> any_of = {};  // of which an OAuth token needs one; empty: none
  std::optional<Role> role = {};
  bool names_app = false, names_deployment = false;  // in its path
};

Published published(const json& document, const Route& route) {
  const json& operation =
      document.at("paths").at(std::string(route.path())).at(lower_case(route.method()));
  Published p = {.is_open = operation.at("security").empty()};
  for (const json& choice : operation.at("security"))
    for (const auto& [scheme, scopes] : choice.items()) {
      p.is_internal |= scheme == "internal";
      p.takes_cookie |= scheme == "console";
      p.takes_session |= scheme == "session";
      p.takes_session_token |= scheme == "play_session";
      p.takes_oauth |= scheme == "oauth";
      if (scheme == "oauth")
        for (const json& scope : scopes)
          p.any_of.push_back(parse_scope(scope.get<std::string>()).value());
    }
  if (operation.contains("x-role")) {
    p.role = parse_enum<Role>(operation.at("x-role").get<std::string>());
    REQUIRE(p.role);
  }
  for (const json& parameter : operation.value("parameters", json::array())) {
    const std::string name = parameter.value("$ref", "");
    p.names_app |= name.ends_with("/OwnAppId") || name.ends_with("/MyAppId");
    p.names_deployment |= name.ends_with("/DeploymentId");
  }
  return p;
}

// What follows from the document for one who calls. Three things stand in the row alone, because
// the document only says them in words: whether the app matters (for_app), whether the operation
// keeps to a caller's deployments, and that a person's operations take OAuth tokens of berth's own
// client only.
class Judge {
 public:
  Judge(const Published& published, const Route& route, const ScopeSet& approved)
      : is_(published), access_(route.guards.access), approved_(approved) {}

  bool lets_in(const Person& person, const Credential& shown) const {
    if (is_.is_open) return true;
    if (is_.is_internal) return false;  // nobody here is an admin of the platform
    switch (shown.kind) {
      case Shows::nothing:
        return false;
      case Shows::cookie:
        return is_.takes_cookie && (is_.takes_session || cookie_for_app(person)) &&
               path_allows(person);
      case Shows::session_jwt:
        return is_.takes_session && path_allows(person);
      case Shows::session_token:
        return is_.takes_session_token;
      case Shows::client_token:
        if (!is_.takes_oauth || !grants(shown.scopes)) return false;
        if (is_.takes_session) return path_allows(person);
        return !needs_app() ||
               (has_role(person, Role::owner) &&
                grants(shown.scopes.cut_to(apps::scopes_of(*person.role, approved_))) &&
                reaches(person.is_limited));
      case Shows::personal_token:
      case Shows::token_of_deployment:
        return takes_tokens_of_apps() && personal(person, shown);
      case Shows::app_token:
      case Shows::client_credentials:
      case Shows::ci_token:
        return takes_tokens_of_apps() && grants(shown.scopes) &&
               reaches(shown.kind == Shows::ci_token) &&
               (!is_.takes_session || path_allows(person));
    }
    return false;
  }

 private:
  bool needs_app() const { return access_.for_app != Access::ForApp::none; }
  bool takes_tokens_of_apps() const {
    return is_.takes_oauth && access_.kind != Access::Kind::session;
  }
  static bool grants(const ScopeSet& scopes, const std::vector<Scope>& any_of) {
    return any_of.empty() ||
           std::ranges::any_of(any_of, [&](Scope scope) { return scopes.grants(scope); });
  }
  bool grants(const ScopeSet& scopes) const { return grants(scopes, is_.any_of); }
  bool has_role(const Person& person, Role usual) const {
    return person.role && apps::includes(*person.role, is_.role.value_or(usual));
  }
  bool path_allows(const Person& person) const {
    return !is_.names_app ||
           (has_role(person, Role::owner) && (!person.is_limited || access_.keeps_to_deployments));
  }
  // Whether somebody who may only use the shop gets there.
  bool reaches(bool is_limited) const {
    return !is_limited || is_.names_deployment || access_.keeps_to_deployments;
  }
  bool cookie_for_app(const Person& person) const {
    if (!needs_app()) return grants((ScopeSet::automatic() | ScopeSet::operators()) - moves_points);
    return has_role(person, Role::owner) &&
           grants(apps::scopes_of(*person.role, approved_) - moves_points) &&
           reaches(person.is_limited);
  }
  bool personal(const Person& person, const Credential& shown) const {
    const bool is_bound = shown.kind == Shows::token_of_deployment;
    // What asks an app's token for no scope is about the app's points.
    const auto any_of = is_.any_of.empty() ? std::vector{Scope::app_balance_read} : is_.any_of;
    const ScopeSet scopes = shown.scopes - moves_points;
    if (!grants(scopes, any_of)) return false;
    if (!needs_app() && !is_bound) return true;
    // Every member may ask for what is about no app, by a token that is for this one.
    const bool has = needs_app() ? has_role(person, Role::owner) : person.role.has_value();
    return has && grants(scopes.cut_to(apps::scopes_of(*person.role, approved_)), any_of) &&
           reaches(is_bound || person.is_limited) && (!is_.takes_session || path_allows(person));
  }

  const Published& is_;
  const Access& access_;
  const ScopeSet& approved_;
};

TEST_CASE("every operation lets in whom the document says, whoever asks and whatever they show") {
  Everybody all;
  const json document = openapi(routes(), Environment::development, all.g.services.base_url);
  constexpr size_t most_shown = 20;
  size_t operations = 0, asked = 0, let_in = 0;
  std::vector<std::string> differences;
  for (const Route& route : routes()) {
    ++operations;
    const Published of_document = published(document, route);
    const Judge judge(of_document, route, all.app.approved_scopes);
    for (const Person& one : all.people)
      for (const Credential& shown : one.credentials) {
        ++asked;
        std::string found;
        if (judge.lets_in(one, shown)) {
          ++let_in;
          found = all.refusal(route, shown);
        } else if (const int status = all.status(route, shown); status != 401 && status != 403) {
          found = "let in: " + std::to_string(status);
        }
        if (!found.empty())
          differences.push_back(std::string(route.request) + " by " + one.name + " with " +
                                names_of_shown.at(size_t(shown.kind)) + ": " + found);
      }
  }
  std::cout << "operations: " << operations << ", asked: " << asked << ", let in: " << let_in
            << ", differences: " << differences.size() << "\n";
  for (size_t i = 0; i < std::min(differences.size(), most_shown); ++i) FAIL_CHECK(differences[i]);
  CHECK(differences.empty());
  CHECK(operations >= 319);
  // Nine people with seven things to show each, nobody, and the app with two.
  CHECK(asked == operations * (9 * 7 + 1 + 2));
  CHECK(let_in > operations);
}

}  // namespace
