// Budgets by the API, and who may let more be spent.
#include <catch2/catch.hpp>

#include "controller/domain/apps/built_in.h"
#include "tests/api/resources/deployments/metered.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

const std::string password = "correct horse battery";
const std::string stale = "401 insufficient_user_authentication";

struct Budgets : Metered {
  Budgets() {
    g.world.write([&](db::Tx& tx) {
      tx.execute("UPDATE users SET password_hash = $2 WHERE id = $1", user.id,
                 g.passwords.hash(password));
    });
  }
  Answered put(json body, const json& more = json::object(), std::vector<Header> headers = {}) {
    if (more.is_object()) body.update(more);
    if (headers.empty()) headers = {token};
    return g.ask("PUT", "/api/operator/budgets", headers, body.dump());
  }
  Answered put_day(const json& limit, const json& more = json::object(),
                   const std::vector<Header>& headers = {}) {
    return put({{"period", "day"}, {"limit", limit}}, more, headers);
  }
  json list() { return get("/api/operator/budgets").body["budgets"]; }
  // The limits of the app's own budgets.
  std::vector<std::int64_t> limits() {
    std::vector<std::int64_t> result;
    for (const json& budget : list()) result.push_back(budget["limit"]);
    return result;
  }
  // The fields of a request of the console.
  std::vector<Header> console() const {
    return {{"Cookie", "__Host-berth_session=" + jwt},
            {"Sec-Fetch-Site", "same-origin"},
            {"Berth-Console", "1"}};
  }
};

TEST_CASE("budgets are set for the app and for a deployment, and listed") {
  Budgets b;
  CHECK(b.list().empty());
  // 100 points at 2 an hour.
  CHECK(b.get("/api/operator/budgets").body["account"] ==
        json{{"balance", 100},
             {"held", 2},
             {"accrued", 0},
             {"points_per_hour", 2},
             {"lasts_until", "2026-02-02T14:00:00.000Z"}});
  const json made = b.put_day(100).body["budget"];
  CHECK(made["deployment_id"].is_null());
  CHECK(made["deployment_name"].is_null());
  CHECK(made["period"] == "day");
  CHECK(made["limit"] == 100);
  CHECK(made["at_limit"] == "stop_metered");
  CHECK(made["spent"] == 0);
  CHECK(made["mark"] == 0);
  CHECK(made["reached"] == false);
  CHECK(made["reached_at"].is_null());
  CHECK(made["period_ends"] == "2026-02-01T00:00:00.000Z");
  const auto of_shop =
      b.put({{"deployment_id", b.id}, {"period", "30d"}, {"limit", 500}, {"at_limit", "stop_all"}});
  REQUIRE(of_shop.status == 200);
  const json list = b.list();
  REQUIRE(list.size() == 2);
  CHECK(list[0] == made);
  CHECK(list[1]["deployment_id"] == b.id);
  CHECK(list[1]["deployment_name"] == "shop");
  CHECK(list[1]["at_limit"] == "stop_all");
  // What a change doesn't name stays as it is.
  CHECK(b.put({{"deployment_id", b.id}, {"period", "30d"}, {"limit", 400}})
            .body["budget"]["at_limit"] == "stop_all");
}

TEST_CASE("whoever has a token may lower a limit, and only a person may raise or remove it") {
  Budgets b;
  REQUIRE(b.put_day(100).status == 200);
  CHECK(b.put_day(50).status == 200);
  CHECK(b.put_day(51).error() == stale);
  CHECK(b.put_day(nullptr).error() == stale);
  CHECK(b.put_day(51, {{"password", "wrong horse battery"}}).error() == "401 invalid_credentials");
  CHECK(b.put_day(51, {{"password", nullptr}}).error() == stale);
  CHECK(b.limits() == std::vector<std::int64_t>{50});
  CHECK(b.put_day(51, {{"password", password}}).status == 200);
  // That proof counts for its own request.
  CHECK(b.put_day(52).error() == stale);
  // To stop more needs no proof, to stop less does.
  CHECK(b.put_day(51, {{"at_limit", "stop_all"}}).status == 200);
  CHECK(b.put_day(51, {{"at_limit", "stop_metered"}}).error() == stale);
  CHECK(b.put_day(40, {{"at_limit", "stop_metered"}}).error() == stale);
  const auto removed = b.put_day(nullptr, {{"password", password}});
  CHECK(removed.status == 200);
  CHECK(removed.body["budget"].is_null());
  CHECK(b.list().empty());
}

TEST_CASE("in the console, a proof counts for ten minutes") {
  Budgets b;
  REQUIRE(b.put_day(50, {}, b.console()).status == 200);
  CHECK(b.put_day(60, {}, b.console()).status == 200);
  b.wait(10min);
  CHECK(b.put_day(70, {}, b.console()).error() == stale);
  CHECK(b.put_day(55, {}, b.console()).status == 200);
  REQUIRE(b.g.ask("POST", "/api/auth/step-up", b.console(), json{{"password", password}}.dump())
              .status == 200);
  CHECK(b.put_day(70, {}, b.console()).status == 200);
  // The app's own token has no part in it.
  CHECK(b.put_day(80).error() == stale);
  CHECK(b.limits() == std::vector<std::int64_t>{70});
}

TEST_CASE(
    "a budget below what is spent is reached at once, and nothing starts until it is raised") {
  Budgets b;
  b.wait(90min);
  b.record(
      {{.name = "pod-1/0", .started_at = *parse_iso8601("2026-01-31T12:00:00Z"), .ended_at = {}}});
  const json budget = b.put_day(2).body["budget"];
  CHECK(budget["spent"] == 3);
  CHECK(budget["reached"] == true);
  CHECK(budget["mark"] == 100);
  const std::string restart = "/api/deploy/apps/" + b.id + "/restart";
  CHECK(b.g.ask("POST", restart, {b.token}).error() == "409 budget_reached");
  const json raised = b.put_day(50, {{"password", password}}).body["budget"];
  CHECK(raised["reached"] == false);
  CHECK(b.g.ask("POST", restart, {b.token}).status == 200);
}

TEST_CASE("what can't be a budget is refused") {
  Budgets b;
  for (const json& limit : {json(0), json(-1), json(1.5), json("100"), json(9'007'199'254'740'992)})
    CHECK(b.put_day(limit).error() == "422 validation_failed");
  CHECK(b.put({{"period", "day"}}).error() == "422 validation_failed");
  CHECK(b.put({{"limit", 5}}).error() == "422 validation_failed");
  CHECK(b.put({{"period", "week"}, {"limit", 5}}).error() == "422 validation_failed");
  CHECK(b.put_day(5, {{"at_limit", "stop"}}).error() == "422 validation_failed");
  CHECK(b.put_day(5, {{"deployment_id", "shop"}}).error() == "422 validation_failed");
  CHECK(b.put_day(5, {{"deployment_id", b.tier_id}}).error() == "404 deployment_not_found");
  const apps::App of_bob =
      b.g.world.approved_app(b.g.world.verified_user("bob"), {Scope::deploy_manage});
  const auto foreign = b.g.world.deploy(of_bob, berth::test::order("foreign"));
  CHECK(b.put_day(5, {{"deployment_id", foreign.id}}).error() == "404 deployment_not_found");
  CHECK(b.put_day(9'007'199'254'740'991).status == 200);
  // A token without the scope sees nothing, and sets nothing.
  const Header reader = bearer(b.g.world.tokens(b.app, b.user, "profile:read").access_token);
  CHECK(b.put_day(1, {}, {reader}).error() == "403 insufficient_scope");
  CHECK(b.g.ask("GET", "/api/operator/budgets", {reader}).error() == "403 insufficient_scope");
}

}  // namespace
