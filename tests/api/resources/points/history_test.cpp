// The history of points, as people ask for it.
#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

struct Fixture : Operator {
  Fixture() { g.world.mint(ledger::user_account(user.id), 10); }
  Answered history(const std::string& query) {
    return g.ask("GET", "/api/points/history?" + query, {bearer(jwt)});
  }
};

TEST_CASE("a day from itself to itself has what its sums by day have") {
  Fixture f;
  const std::string day = to_iso8601(f.g.world.clock.now()).substr(0, 10);
  CHECK(f.history("from=" + day + "&to=" + day).body["total"] == 1);
  CHECK(f.history("from=" + day + "&to=" + day + "T00:00:00Z").body["total"] == 0);
  CHECK(f.g.ask("GET", "/api/points/days?from=" + day + "&to=" + day, {bearer(f.jwt)})
            .body["days"][0]["earned"] == 10);
}

TEST_CASE("a kind that there isn't is refused with those that there are") {
  Fixture f;
  const auto refused = f.history("kind=spends");
  CHECK(refused.error() == "422 validation_failed");
  CHECK(refused.body["error"]["details"]["kind"][0].get<std::string>().find("mint, spend, ") !=
        std::string::npos);
  CHECK(f.history("kind=mint").body["total"] == 1);
  // Nobody has spent anything yet.
  CHECK(f.history("kind=spend").body["total"] == 0);
}

// Each time that ends something, with the operation that takes it.
TEST_CASE("a campaign that ends on a day lasts until that day is over") {
  Fixture f;
  f.g.world.mint(ledger::app_account(f.app.id), 1'000);
  f.g.world.write([&](db::Tx& tx) {
    apps::approve(tx, apps::request_scopes(tx, f.app, {Scope::campaigns_manage}).id, "root");
  });
  const Header token = bearer(
      f.g.world.tokens(f.g.world.find_app(f.app.id), f.user, "campaigns:manage").access_token);
  const auto create = [&](const std::string& ends_at) {
    return f.g.ask("POST", "/api/external/campaigns", {token},
                   json{{"name", "Spring"},
                        {"surface_type", "banner"},
                        {"total_payment", 100},
                        {"payout_rate", 1},
                        {"ends_at", ends_at}}
                       .dump());
  };
  CHECK(create("2030-01-01").body["campaign"]["ends_at"] == "2030-01-02T00:00:00.000Z");
  CHECK(create("20300101").body["campaign"]["ends_at"] == "2030-01-02T00:00:00.000Z");
  CHECK(create("2030-01-01T00:00:00Z").body["campaign"]["ends_at"] == "2030-01-01T00:00:00.000Z");
}

}  // namespace
