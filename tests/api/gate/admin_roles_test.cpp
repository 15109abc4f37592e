// Every operation below /api/internal/ with every role, and with every way in which admins call.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "api/gate/admin_caller.h"
#include "api/gate/admin_token.h"
#include "api/gate/event_stream.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "tests/api/gate_world.h"
#include "tests/totp.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;
using accounts::AdminRole;

constexpr std::array roles = {AdminRole::admin, AdminRole::support, AdminRole::finance};
using Fields = std::vector<Header>;

const std::string nobody = "01936f5e-7c1a-7000-8000-000000000001";

std::string path_of(const Route& route) {
  std::string path(route.path());
  for (size_t open = path.find('{'); open != std::string::npos; open = path.find('{'))
    path.replace(open, path.find('}') - open + 1, nobody);
  return path;
}

std::vector<const Route*> internal_rows() {
  std::vector<const Route*> rows;
  for (const Route& route : routes())
    if (route.guards.access.kind == Access::Kind::internal) rows.push_back(&route);
  return rows;
}

bool has(const Access& access, AdminRole role) {
  return std::ranges::find(access.admin_roles, role) != access.admin_roles.end();
}

// One admin of each role with a second factor, and a made secret of each.
struct Admins {
  GateWorld g;
  std::map<AdminRole, accounts::User> people;
  std::map<AdminRole, std::string> secrets;
  std::map<AdminRole, std::string> secret_ids;

  Admins() {
    g.services.cluster.probe_isolation = [] { return Isolation(); };
    for (const AdminRole role : roles) {
      const std::string name(to_string(role));
      const accounts::User user = g.world.verified_user(name);
      g.world.write([&](db::Tx& tx) {
        accounts::give_admin_role(tx, user.id, role, "root");
        const std::string secret = two_factor::set_up(tx, user, g.world.keys).secret;
        two_factor::enable(tx, user,
                           berth::test::totp(secret, to_millis(g.world.clock.now()) / 1000),
                           g.world.keys, "https://api.example.org");
        const auto made = internal_secrets::make(tx, name + "-job", role, {}, "root");
        secrets[role] = made.text;
        secret_ids[role] = made.secret.id;
      });
      people.emplace(role, g.world.find_user(user.id));
    }
  }

  // The fields of a request of the console by this admin, who has just proven their second factor.
  Fields console(AdminRole role) {
    const auto begun = g.world.log_in(people.at(role), 24h);
    g.world.write([&](db::Tx& tx) {
      tx.execute("UPDATE sessions SET second_factor_at = $2 WHERE id = $1", begun.id, tx.now());
    });
    return {{"Sec-Fetch-Site", "same-origin"},
            {"Berth-Console", "1"},
            {"Cookie", "__Host-berth_session=" + accounts::session_jwt(begun, g.world.keys)}};
  }
  Fields by_secret(AdminRole role) const { return {{"x-internal-secret", secrets.at(role)}}; }

  std::string outcome(const std::string& method, const std::string& path, const Fields& fields,
                      const json& body = {}) {
    const Answered answered = g.ask(method, path, fields, body.is_null() ? "" : body.dump());
    return answered.status < 300 ? std::to_string(answered.status) : answered.error();
  }
  // Whether the gate refuses for the role or the way; what a handler refuses later isn't meant.
  bool is_refused(const Route& route, const Fields& fields) {
    const Answered answered = g.ask(std::string(route.method()), path_of(route), fields, "{}");
    if (answered.status != 403) return false;
    const std::string why = answered.body.value("message", "");
    return why.find("needs the role") != std::string::npos ||
           why.find("gives others access") != std::string::npos ||
           why.find("internal secret") != std::string::npos;
  }
  audit::Entry newest_entry() {
    return g.world.read(
        [](db::Tx& tx) { return audit::list(tx, {}, {.page = 1, .page_size = 1}).items.at(0); });
  }
};

TEST_CASE("each internal operation says which roles may call it", "[gate_admin_roles_test]") {
  for (const Route* route : internal_rows()) {
    INFO(route->name);
    const Access& access = route->guards.access;
    CHECK(route->path().starts_with("/api/internal/"));
    CHECK(has(access, AdminRole::admin));
    CHECK(std::set<AdminRole>(access.admin_roles.begin(), access.admin_roles.end()).size() ==
          access.admin_roles.size());
  }
  for (const Route& route : routes())
    if (route.guards.access.kind != Access::Kind::internal) {
      INFO(route.name);
      CHECK(route.guards.access.admin_roles.empty());
      CHECK_FALSE(route.path().starts_with("/api/internal"));
    }
}

// What others than admins may change; everything else that isn't in one of these lists is a read.
TEST_CASE("support and finance may change these and nothing else", "[gate_admin_roles_test]") {
  const std::set<std::string_view> of_support = {
      "suspendUser",          "reactivateUser",
      "endUserSessions",      "suspendApp",
      "reactivateApp",        "suspendDeployment",
      "reactivateDeployment", "refundAnySpend",
      "refundDeployment",     "internalAnswerRefundRequest"};
  const std::set<std::string_view> of_finance = {
      "mint",     "refundAnySpend",       "refundDeployment",    "internalAnswerRefundRequest",
      "clawBack", "confirmPointProposal", "rejectPointProposal", "changeTier"};
  std::set<std::string_view> by_support, by_finance;
  for (const Route* route : internal_rows()) {
    INFO(route->name);
    const Access& access = route->guards.access;
    if (route->method() != "GET") {
      if (has(access, AdminRole::support)) by_support.insert(route->name);
      if (has(access, AdminRole::finance)) by_finance.insert(route->name);
    } else {
      // Mails have tokens that open accounts; secrets and whom all apps may trust are admins'
      // alone.
      const bool is_for_all = route->name != "outbox" && route->name != "listInternalSecrets" &&
                              route->name != "listIssuers";
      CHECK(has(access, AdminRole::support) == is_for_all);
      CHECK(has(access, AdminRole::finance) == is_for_all);
    }
  }
  CHECK(by_support == of_support);
  CHECK(by_finance == of_finance);
}

TEST_CASE("each internal operation refuses exactly the roles that its row leaves out",
          "[gate_admin_roles_test]") {
  Admins a;
  int asked = 0, refused = 0;
  for (const Route* route : internal_rows())
    for (const AdminRole role : roles) {
      const Access& access = route->guards.access;
      const bool only_configured = access.first_party == Access::FirstParty::none;
      INFO(route->request << " by " << to_string(role));
      const bool in_console = a.is_refused(*route, a.console(role));
      CHECK(in_console == (only_configured || !has(access, role)));
      const bool by_secret = a.is_refused(*route, a.by_secret(role));
      CHECK(by_secret == (only_configured || access.in_person || !has(access, role)));
      asked += 2;
      refused += (in_console ? 1 : 0) + (by_secret ? 1 : 0);
    }
  for (const Route* route : internal_rows()) {
    INFO(route->request << " by the secret of the configuration");
    CHECK_FALSE(a.is_refused(*route, a.g.admin));
  }
  CHECK(asked == int(internal_rows().size()) * 6);
  WARN(internal_rows().size() << " internal operations, " << asked << " requests, " << refused
                              << " refused");
}

TEST_CASE("who has less than the role admin doesn't lock an admin out", "[gate_admin_roles_test]") {
  Admins a;
  const std::string admin = "/api/internal/users/" + a.people.at(AdminRole::admin).id;
  const std::string finance = "/api/internal/users/" + a.people.at(AdminRole::finance).id;
  const std::string user = "/api/internal/users/" + a.g.world.verified_user("bob").id;
  const Fields support = a.console(AdminRole::support);
  for (const std::string& path : {admin, finance}) {
    CHECK(a.outcome("POST", path + "/suspend", support) == "403 forbidden");
    CHECK(a.outcome("POST", path + "/reactivate", support) == "403 forbidden");
    CHECK(a.outcome("DELETE", path + "/sessions", support) == "403 forbidden");
  }
  CHECK(a.outcome("POST", user + "/suspend", support) == "200");
  CHECK(a.outcome("POST", user + "/reactivate", support) == "200");
  CHECK(a.outcome("DELETE", user + "/sessions", support) == "200");
  CHECK(a.outcome("POST", finance + "/suspend", a.console(AdminRole::admin)) == "200");
}

TEST_CASE("an admin gives others roles, and the account says its own", "[gate_admin_roles_test]") {
  Admins a;
  const std::string bob = a.g.world.verified_user("bob").id;
  const std::string path = "/api/internal/users/" + bob + "/promote";
  const Fields admin = a.console(AdminRole::admin);
  const auto made = a.g.ask("POST", path, admin, R"({"admin_role": "support"})");
  CHECK(made.status == 200);
  CHECK(made.body.at("user").at("is_admin") == true);
  CHECK(made.body.at("user").at("admin_role") == "support");
  CHECK(a.outcome("POST", path, admin, {{"admin_role", "root"}}) == "422 validation_failed");
  CHECK(a.outcome("POST", path, a.console(AdminRole::support), {{"admin_role", "admin"}}) ==
        "403 forbidden");
  CHECK(a.outcome("POST", path, a.by_secret(AdminRole::admin), {{"admin_role", "admin"}}) ==
        "403 forbidden");
  const std::string self = "/api/internal/users/" + a.people.at(AdminRole::admin).id + "/promote";
  CHECK(a.outcome("POST", self, admin, {{"admin_role", "support"}}) == "409 invalid_state");
  CHECK(a.outcome("POST", self, a.g.admin, {{"is_admin", false}}) == "409 invalid_state");
  const auto me = a.g.ask("GET", "/api/auth/me", a.console(AdminRole::finance));
  CHECK(me.body.at("user").at("admin_role") == "finance");
  const auto admins = a.g.ask("GET", "/api/internal/admins", a.console(AdminRole::support));
  CHECK(admins.body.at("admins").size() == 4);
}

TEST_CASE("finance changes the prices of a tier and nothing else of it",
          "[gate_admin_roles_test]") {
  Admins a;
  const auto tiers = a.g.ask("GET", "/api/internal/deploy/tiers", a.g.admin);
  std::string path = "/api/internal/deploy/tiers/";
  for (const json& tier : tiers.body.at("tiers"))
    if (tier.at("slug") == "basic") path += tier.at("id");
  const Fields finance = a.console(AdminRole::finance);
  CHECK(a.outcome("PATCH", path, finance, {{"monthly_cost_points", 120}}) == "200");
  CHECK(a.outcome("PATCH", path, finance, {{"points_per_hour", 2}}) == "200");
  CHECK(a.outcome("PATCH", path, finance, {{"monthly_cost_points", 1}, {"exec_allowed", true}}) ==
        "403 forbidden");
  CHECK(a.outcome("PATCH", path, a.g.admin, {{"exec_allowed", true}}) == "200");
}

TEST_CASE("a made secret acts under its name, with its role, until it is revoked",
          "[gate_admin_roles_test]") {
  Admins a;
  const json mint = {{"account", {{"kind", "treasury"}}}, {"amount", 1}, {"reason", "test"}};
  Fields finance = a.by_secret(AdminRole::finance);
  CHECK(a.outcome("POST", "/api/internal/points/mint", finance, mint) == "201");
  CHECK(a.newest_entry().actor == "finance-job");
  finance.push_back({"X-Admin-Actor", "nightly run"});
  a.g.world.clock.advance(1s);
  CHECK(a.outcome("POST", "/api/internal/points/mint", finance, mint) == "201");
  CHECK(a.newest_entry().actor == "finance-job: nightly run");
  finance.back().value = "user:" + a.people.at(AdminRole::admin).id;
  CHECK(a.outcome("POST", "/api/internal/points/mint", finance, mint) == "400 malformed_request");
  CHECK(a.outcome("POST", "/api/internal/points/mint", a.by_secret(AdminRole::support), mint) ==
        "403 forbidden");
  // It is listed with its last use, and never shown.
  const auto list = a.g.ask("GET", "/api/internal/secrets", a.console(AdminRole::admin));
  CHECK(list.text.find(a.secrets.at(AdminRole::finance)) == std::string::npos);
  for (const json& secret : list.body.at("secrets"))
    CHECK(secret.at("last_used_at").is_null() == (secret.at("role") == "admin"));
  CHECK(a.outcome("DELETE", "/api/internal/secrets/" + a.secret_ids.at(AdminRole::finance),
                  a.console(AdminRole::admin)) == "200");
  CHECK(a.outcome("GET", "/api/internal/treasury", a.by_secret(AdminRole::finance)) ==
        "403 forbidden");
}

TEST_CASE("an admin makes a secret in the console, and only there", "[gate_admin_roles_test]") {
  Admins a;
  const json wanted = {{"name", "ci"}, {"role", "support"}, {"expires_in_days", 1}};
  const auto made =
      a.g.ask("POST", "/api/internal/secrets", a.console(AdminRole::admin), wanted.dump());
  REQUIRE(made.status == 201);
  const Fields shown = {{"x-internal-secret", made.body.at("secret")}};
  CHECK(made.body.at("internal_secret").at("made_by") ==
        "user:" + a.people.at(AdminRole::admin).id);
  CHECK(a.outcome("GET", "/api/internal/treasury", shown) == "200");
  CHECK(a.outcome("POST", "/api/internal/secrets", shown, wanted) == "403 forbidden");
  CHECK(a.outcome("POST", "/api/internal/secrets", a.by_secret(AdminRole::admin), wanted) ==
        "403 forbidden");
  CHECK(a.outcome("POST", "/api/internal/secrets", a.g.admin, wanted) == "201");
  CHECK(a.outcome("POST", "/api/internal/secrets", a.g.admin, {{"name", "user"}}) ==
        "422 validation_failed");
  a.g.world.clock.advance(24h);
  CHECK(a.outcome("GET", "/api/internal/treasury", shown) == "403 forbidden");
}

TEST_CASE("a long answer to an admin ends with their session, their secret or their role",
          "[gate_admin_roles_test]") {
  const auto route = std::ranges::find(routes(), "auditStream", &Route::name);
  REQUIRE(route != routes().end());
  // Looks again as an answer does that has begun with these fields; `end` happens meanwhile.
  const auto refusal_after = [&](Admins& a, const Fields& fields, const auto& fill,
                                 const std::function<void(db::Tx&)>& end) {
    Request request = {.method = "GET",
                       .path = "/api/internal/audit/stream",
                       .raw_query = {},
                       .query = {},
                       .headers = {},
                       .host = "api.example.org",
                       .remote_address = "192.0.2.1",
                       .body = ""};
    for (const Header& field : fields) request.headers.add(field.name, field.value);
    Call call = {.http = request, .route = &*route, .admin = "somebody"};
    fill(call);
    const BearerCheck check(call, a.g.services);
    const auto look = [&] { a.g.world.read([&](db::Tx& tx) { check.in(tx); }); };
    CHECK(berth::test::refusal(look) == "");
    a.g.world.write(end);
    return berth::test::refusal(look);
  };
  const auto in_console = [](Call& call) { call.session_id = "session"; };
  const auto by_made_secret = [](Call& call) { call.admin_token_id = "secret"; };
  const auto by_configuration = [](Call&) {};
  {
    Admins a;
    CHECK(refusal_after(a, a.by_secret(AdminRole::support), by_made_secret, [&](db::Tx& tx) {
            internal_secrets::revoke(tx, a.secret_ids.at(AdminRole::support), "root");
          }) == "403 forbidden");
  }
  {
    Admins a;
    const std::string id = a.people.at(AdminRole::support).id;
    CHECK(refusal_after(a, a.console(AdminRole::support), in_console, [&](db::Tx& tx) {
            tx.execute("DELETE FROM sessions WHERE user_id = $1", id);
          }) == "401 token_revoked");
  }
  {
    Admins a;
    const std::string id = a.people.at(AdminRole::support).id;
    CHECK(refusal_after(a, a.console(AdminRole::support), in_console, [&](db::Tx& tx) {
            accounts::give_admin_role(tx, id, std::nullopt, "root");
          }) == "403 forbidden");
  }
  {
    Admins a;
    CHECK(refusal_after(a, a.g.admin, by_configuration, [](db::Tx&) {}) == "");
  }
}

TEST_CASE("the audit log names the person who acted", "[gate_admin_roles_test]") {
  Admins a;
  const json mint = {{"account", {{"kind", "treasury"}}}, {"amount", 1}, {"reason", "test"}};
  CHECK(a.outcome("POST", "/api/internal/points/mint", a.console(AdminRole::finance), mint) ==
        "201");
  CHECK(a.outcome("POST", "/api/internal/points/mint", a.g.admin, mint) == "201");
  const auto entries =
      a.g.ask("GET", "/api/internal/audit?action=points.mint", a.console(AdminRole::support))
          .body.at("entries");
  CHECK(entries.at(0).at("actor_name").is_null());
  CHECK(entries.at(1).at("actor_name") == "finance");
}

TEST_CASE("several secrets of the configuration work beside each other, under their names",
          "[gate_admin_roles_test]") {
  GateWorld g;
  g.services.admission.named_secrets = {{.name = "old", .secret = "the old one"},
                                        {.name = "new", .secret = "the new one"}};
  const std::string mint = R"({"account": {"kind": "treasury"}, "amount": 1, "reason": "test"})";
  const std::map<std::string, std::string> actors = {
      {"the old one", "old"}, {"the new one", "new"}, {"internal secret", "internal"}};
  for (const auto& [secret, actor] : actors) {
    g.world.clock.advance(1s);
    CHECK(
        g.ask("POST", "/api/internal/points/mint", {{"x-internal-secret", secret}}, mint).status ==
        201);
    const auto entry = g.world.read(
        [](db::Tx& tx) { return audit::list(tx, {}, {.page = 1, .page_size = 1}).items.at(0); });
    CHECK(entry.actor == actor);
  }
  CHECK(g.ask("GET", "/api/internal/treasury", {{"x-internal-secret", "the third one"}}).status ==
        403);
}

std::string token_of(Admins& a, const accounts::User& user, const ScopeSet& scopes,
                     std::chrono::days lifetime) {
  return a.g.world.write([&](db::Tx& tx) {
    return personal_tokens::make(tx, user,
                                 {.name = "a job", .scopes = scopes, .lifetime = lifetime},
                                 a.g.world.keys, "https://api.example.org")
        .secret;
  });
}

TEST_CASE("a personal token needs the scope, a short life, a role and a second factor",
          "[gate_admin_roles_test]") {
  Admins a;
  const auto read = [&](const std::string& token) {
    return a.outcome("GET", "/api/internal/treasury", {bearer(token)});
  };
  using std::chrono::days;
  const accounts::User support = a.people.at(AdminRole::support);
  const std::string token = token_of(a, support, {Scope::admin}, days(30));
  CHECK(read(token) == "200");
  CHECK(read(token.substr(0, token.size() - 1) + "x") == "401 invalid_token");
  CHECK(read(token_of(a, support, {Scope::admin}, days(31))) == "403 forbidden");
  CHECK(read(token_of(a, support, {Scope::deploy_manage}, days(1))) == "403 insufficient_scope");
  const accounts::User bob = a.g.world.verified_user("bob");
  const std::string bobs = token_of(a, bob, {Scope::admin}, days(1));
  CHECK(read(bobs) == "403 forbidden");
  a.g.world.write(
      [&](db::Tx& tx) { accounts::give_admin_role(tx, bob.id, AdminRole::admin, "root"); });
  CHECK(read(bobs) == "403 forbidden");  // no second factor
  // A wrong secret isn't made up for by a token.
  CHECK(a.outcome("GET", "/api/internal/treasury",
                  {bearer(token), {"x-internal-secret", "wrong"}}) == "403 forbidden");
  a.g.world.write(
      [&](db::Tx& tx) { accounts::give_admin_role(tx, support.id, std::nullopt, "root"); });
  CHECK(read(token) == "403 forbidden");
  // It is no token of the built-in client, and opens what its scopes say elsewhere: nothing.
  CHECK(a.outcome("GET", "/api/auth/me", {bearer(token)}) == "401 wrong_token_type");
}

TEST_CASE("a personal token acts in the name and with the role of the admin who made it",
          "[gate_admin_roles_test]") {
  Admins a;
  int asked = 0;
  std::map<AdminRole, Fields> fields;
  for (const AdminRole role : roles)
    fields[role] = {bearer(token_of(a, a.people.at(role), {Scope::admin}, std::chrono::days(30)))};
  for (const Route* route : internal_rows())
    for (const AdminRole role : roles) {
      INFO(route->request << " by a token of " << to_string(role));
      const Access& access = route->guards.access;
      const bool may =
          access.first_party != Access::FirstParty::none && !access.in_person && has(access, role);
      CHECK(a.is_refused(*route, fields.at(role)) == !may);
      ++asked;
    }
  CHECK(asked == int(internal_rows().size()) * 3);
  const json mint = {{"account", {{"kind", "treasury"}}}, {"amount", 1}, {"reason", "test"}};
  Fields finance = fields.at(AdminRole::finance);
  finance.push_back({"X-Admin-Actor", "somebody else"});
  CHECK(a.outcome("POST", "/api/internal/points/mint", finance, mint) == "201");
  const auto entry = a.newest_entry();
  CHECK(entry.actor == "user:" + a.people.at(AdminRole::finance).id);
  CHECK(entry.token_kind == "admin_token");
  CHECK(a.g.world.read([&](db::Tx& tx) {
    return tx.number(R"(SELECT count(*) FROM personal_tokens WHERE id = $1 AND user_id = $2)",
                     entry.token_id.value_or(""), a.people.at(AdminRole::finance).id);
  }) == 1);
}

TEST_CASE("a personal token with the scope admin is made with a fresh proof, for 30 days at most",
          "[gate_admin_roles_test]") {
  Admins a;
  const accounts::User admin = a.people.at(AdminRole::admin);
  const auto session = a.g.world.log_in(admin, 24h);
  const auto make = [&](const ScopeSet& scopes, Duration lifetime, const std::string& session_id) {
    return berth::test::refusal([&] {
      a.g.world.write(
          [&](db::Tx& tx) { require_may_make(tx, scopes, lifetime, admin, session_id); });
    });
  };
  CHECK(make({Scope::admin}, 24h, session.id) == "403 forbidden");
  a.g.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE sessions SET second_factor_at = $2 WHERE id = $1", session.id, tx.now());
  });
  CHECK(make({Scope::admin}, 24h * 30, session.id) == "");
  CHECK(make({Scope::admin}, 24h * 30 + 1s, session.id) == "422 validation_failed");
  CHECK(make({Scope::deploy_manage}, 24h * 365, "") == "");
  a.g.world.clock.advance(15min);
  CHECK(make({Scope::admin}, 24h, session.id) == "403 forbidden");
}

TEST_CASE("the operation that makes personal tokens asks an admin for their second factor",
          "[gate_admin_roles_test]") {
  Admins a;
  const json wanted = {{"name", "a job"}, {"scopes", {"admin"}}, {"expires_in_days", 30}};
  const Fields fresh = a.console(AdminRole::support);
  a.g.world.write(
      [&](db::Tx& tx) { tx.execute("UPDATE sessions SET authenticated_at = $1", tx.now()); });
  const auto made = a.g.ask("POST", "/api/auth/tokens", fresh, wanted.dump());
  REQUIRE(made.status == 201);
  CHECK(made.body.at("personal_token").at("scopes") == json({"admin"}));
  CHECK(a.outcome("GET", "/api/internal/treasury", {bearer(made.body.at("token"))}) == "200");
  json longer = wanted;
  longer["expires_in_days"] = 31;
  CHECK(a.outcome("POST", "/api/auth/tokens", fresh, longer) == "422 validation_failed");
  const accounts::User bob = a.g.world.verified_user("bob");
  const std::string jwt = a.g.world.jwt(bob);
  a.g.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE sessions SET authenticated_at = $1, second_factor_at = NULL", tx.now());
  });
  CHECK(a.outcome("POST", "/api/auth/tokens", {bearer(jwt)}, wanted) == "403 forbidden");
  CHECK(a.outcome("POST", "/api/auth/tokens", fresh, wanted) == "403 forbidden");
}

}  // namespace
