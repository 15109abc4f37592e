// Every operation with a role lets in those who have it, and nobody else.
#include <catch2/catch.hpp>
#include <iostream>
#include <set>

#include "api/gate/authenticate.h"
#include "api/gate/event_stream.h"
#include "tests/api/gate/members.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using apps::Role;

ScopeSet all() {
  ScopeSet scopes;
  for (const ScopeInfo& scope : all_scopes()) scopes.add(scope.scope);
  return scopes;
}

struct Person {
  std::string name;
  accounts::User user;
  std::string jwt;
  std::optional<Role> role;  // nothing for strangers
};

struct Team {
  GateWorld g;
  accounts::User ada = g.world.verified_user("ada");
  apps::App app = g.world.approved_app(ada, all());
  deployments::Deployment shop = g.world.deploy(app, berth::test::order());
  std::vector<Person> people = {{"the owner", ada, g.world.jwt(ada), Role::owner}};

  Person person(const std::string& name) {
    const auto user = g.world.verified_user(name);
    return {name, user, g.world.jwt(user), std::nullopt};
  }
  Person member(const std::string& name, Role role,
                const std::optional<std::vector<std::string>>& deployments = {}) {
    Person one = person(name);
    one.role = role;
    add_member(g, app, ada, one.user, role, deployments);
    return one;
  }
  void remove(const Person& one) {
    g.world.write(
        [&](db::Tx& tx) { apps::remove_member(tx, change_by(g, ada), app.id, one.user.id); });
  }

  PathValues path(const Route& route, const std::string& deployment) const {
    PathValues values;
    const auto names = placeholders_in(route.path());
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string_view component = route.in_path[i]->component;
      const bool is_app = component == "OwnAppId" || component == "MyAppId";
      values.emplace(names[i], is_app ? app.id : component == "DeploymentId" ? deployment : ada.id);
    }
    return values;
  }
  std::string outcome(const Route& route, const Person& one, const std::string& deployment) {
    const Shown shown = {.token = one.jwt, .is_console = true, .app = app.id};
    return berth::test::refusal([&] {
      g.world.read(
          [&](db::Tx& tx) { check_bearer(tx, route, path(route, deployment), shown, g.services); });
    });
  }
};

bool is_for_app(const Access& access) {
  return access.kind == Access::Kind::oauth && access.first_party != Access::FirstParty::none &&
         access.for_app != Access::ForApp::none;
}

bool names(const Route& route, std::set<std::string_view> components) {
  for (const Placeholder* placeholder : route.in_path)
    if (components.contains(placeholder->component)) return true;
  return false;
}

// Operations that the gate asks for a role.
bool is_checked(const Route& route) {
  return is_for_app(route.guards.access) || names(route, {"OwnAppId", "MyAppId"});
}

TEST_CASE("each operation for an app has a role") {
  std::set<std::string_view> by_handlers;
  for (const Route& route : routes()) {
    INFO(route.name);
    if (is_checked(route)) CHECK(route.guards.access.role.has_value());
    if (!is_checked(route) && route.guards.access.role) by_handlers.insert(route.name);
  }
  // The app is in the body or the query.
  CHECK(by_handlers == std::set<std::string_view>{"accountEvents", "appMoney", "changeAlert",
                                                  "createAlert", "topUpApp"});
}

TEST_CASE("every route, by every role: the gate lets in whom its row says") {
  Team t;
  for (const Role role : {Role::viewer, Role::billing, Role::developer, Role::admin, Role::owner})
    t.people.push_back(t.member("member" + std::string(to_string(role)), role));
  t.people.push_back(t.person("stranger"));
  Person removed = t.member("removed", Role::owner);
  t.remove(removed);
  removed.role.reset();
  t.people.push_back(removed);
  int rows = 0, asked = 0, let_in = 0;
  for (const Route& route : routes()) {
    const Access& access = route.guards.access;
    // The console never spends the points of its user.
    if (!is_checked(route) || route.name == "spendPoints") continue;
    ++rows;
    for (const Person& one : t.people) {
      INFO(route.request << " by " << one.name);
      ++asked;
      const bool may = one.role && apps::includes(*one.role, access.role.value());
      CHECK(t.outcome(route, one, t.shop.id) == (may ? "" : "403 forbidden"));
      if (may) ++let_in;
    }
  }
  std::cout << "operations with a role: " << rows << ", asked: " << asked << ", let in: " << let_in
            << "\n";
  CHECK(rows >= 105);
  CHECK(asked == rows * 8);
}

TEST_CASE("every route: a member who is limited to a deployment gets that one alone") {
  Team t;
  const auto other = t.g.world.deploy(t.app, berth::test::order("other"));
  const Person bob = t.member("bob", Role::developer, std::vector{t.shop.id});
  int of_deployment = 0, keeping = 0;
  for (const Route& route : routes()) {
    const Access& access = route.guards.access;
    if (!is_checked(route) || route.name == "spendPoints") continue;
    INFO(route.request);
    const bool has_role = apps::includes(Role::developer, access.role.value());
    const bool has_deployment = names(route, {"DeploymentId"});
    const bool may = has_role && (has_deployment || access.keeps_to_deployments);
    CHECK(t.outcome(route, bob, t.shop.id) == (may ? "" : "403 forbidden"));
    if (has_deployment) CHECK(t.outcome(route, bob, other.id) == "403 forbidden");
    of_deployment += has_deployment ? 1 : 0;
    keeping += access.keeps_to_deployments ? 1 : 0;
  }
  std::cout << "operations on a deployment: " << of_deployment
            << ", on the app for limited callers: " << keeping << "\n";
  CHECK(of_deployment > 25);
}

std::vector<Header> console(const Person& one, const std::string& app_id) {
  return {{"Cookie", "__Host-berth_session=" + one.jwt},
          {"Sec-Fetch-Site", "same-origin"},
          {"Berth-Console", "1"},
          {"Berth-App", app_id}};
}

TEST_CASE("a removed member loses the app on connections that are open") {
  Team t;
  const Person bob = t.member("bob", Role::developer);
  Request request = {.method = "GET",
                     .path = "/",
                     .raw_query = {},
                     .query = {},
                     .headers = {},
                     .host = "api.example.org",
                     .remote_address = "192.0.2.1",
                     .body = ""};
  // The request's headers refer to these.
  const std::vector<Header> fields = console(bob, t.app.id);
  for (const Header& field : fields) request.headers.add(field.name, field.value);
  int checked = 0;
  std::vector<BearerCheck> checks;
  for (const Route& route : routes())
    if (std::set<std::string_view>{"execInContainer", "forwardPort", "followedLogs",
                                   "deploymentEvents", "containerLogs"}
            .contains(route.name)) {
      Call call = {.http = request, .route = &route, .path = t.path(route, t.shop.id)};
      call.user = bob.user;
      checks.emplace_back(call, t.g.services);
      ++checked;
    }
  CHECK(checked >= 4);
  for (const BearerCheck& check : checks)
    CHECK(berth::test::refusal([&] { t.g.world.read([&](db::Tx& tx) { check.in(tx); }); }) == "");
  t.remove(bob);
  for (const BearerCheck& check : checks)
    CHECK(berth::test::refusal([&] { t.g.world.read([&](db::Tx& tx) { check.in(tx); }); }) ==
          "403 forbidden");
}

TEST_CASE("members are listed, invited, changed and removed over the API") {
  Team t;
  const Person bob = t.person("bob");
  const std::string members = "/api/oauth/my-apps/" + t.app.id + "/members";
  const auto as_ada = console(t.people[0], ""), as_bob = console(bob, "");
  const auto ask = [&](const std::string& method, const std::string& path, const auto& who,
                       const std::string& body = "") { return t.g.ask(method, path, who, body); };
  const auto invited = ask("POST", members, as_ada, R"({"username": "bob", "role": "viewer"})");
  REQUIRE(invited.status == 201);
  CHECK(invited.body["invitation"]["username"] == "bob");
  CHECK(ask("GET", members, as_bob).error() == "403 forbidden");
  const auto own = ask("GET", "/api/auth/invitations", as_bob);
  REQUIRE(own.body["invitations"].size() == 1);
  CHECK(own.body["invitations"][0]["app"]["id"] == t.app.id);
  const std::string id = own.body["invitations"][0]["id"];
  CHECK(ask("POST", "/api/auth/invitations/" + id + "/accept", as_bob).status == 200);
  const auto listed = ask("GET", members, as_bob);
  CHECK(listed.body["members"].size() == 2);
  CHECK(listed.body["members"][1]["role"] == "viewer");
  CHECK(ask("GET", "/api/operator/apps", as_bob).body["apps"][0]["role"] == "viewer");
  CHECK(ask("PATCH", members + "/" + bob.user.id, as_bob, R"({"role": "owner"})").error() ==
        "403 forbidden");
  CHECK(ask("PATCH", members + "/" + bob.user.id, as_ada, R"({"role": "developer"})")
            .body["member"]["role"] == "developer");
  // Only an owner gets as far as the proof.
  CHECK(ask("POST", "/api/oauth/my-apps/" + t.app.id + "/transfer", as_bob,
            json{{"user_id", bob.user.id}}.dump())
            .error() == "403 forbidden");
  CHECK(ask("GET", "/api/deploy/apps", as_bob).body["deployments"].size() == 1);
  CHECK(ask("DELETE", members + "/" + bob.user.id, as_bob).status == 200);
  CHECK(ask("GET", members, as_bob).error() == "403 forbidden");
}

TEST_CASE("a member doesn't get the names of the owner's other apps") {
  Team t;
  const apps::App other = t.g.world.approved_app(t.ada, all());
  t.g.world.deploy(other, berth::test::order("secret", "free"));
  const auto apps_told_to = [&](const Person& one) {
    std::set<std::string> ids;
    const auto status = t.g.ask("GET", "/api/deploy/sandbox-status", console(one, t.app.id), "");
    REQUIRE(status.status == 200);
    for (const json& use : status.body["deployments"]) ids.insert(use["app_id"]);
    CHECK(status.body["deployments_used"] == 1);
    return ids;
  };
  CHECK(apps_told_to(t.people[0]) == std::set<std::string>{other.id});
  CHECK(apps_told_to(t.member("bob", Role::viewer)).empty());
}

}  // namespace
