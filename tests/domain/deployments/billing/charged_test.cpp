// What receipts say that a charge was for.
#include "controller/domain/deployments/billing/charged.h"

#include <catch2/catch.hpp>

#include "tests/domain/deployments/metering/metering_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

TEST_CASE("a charge by the hour was for the day that the app was charged for") {
  MeteringWorld w;
  w.give(10'000'000);
  const auto row = w.deploy_on("hourly");
  w.begin(row.id);
  w.pass(30h);
  std::map<std::string, std::int64_t> days;
  w.read([&](db::Tx& tx) {
    auto rows = tx.query("SELECT transaction_id, day FROM meter_settlements");
    while (rows.next()) days[rows.text("transaction_id")] = rows.integer("day");
  });
  REQUIRE_FALSE(days.empty());
  for (const auto& [transaction_id, day] : days) {
    const auto charged =
        w.read([&](db::Tx& tx) { return billing::charged_by(tx, transaction_id); });
    REQUIRE(charged);
    CHECK(charged->from == start_of_day(day));
    CHECK(charged->until == start_of_day(day + 1));
    CHECK_FALSE(charged->deployment_id);
  }
}

TEST_CASE("what wasn't charged for a deployment or a build was for neither") {
  MeteringWorld w;
  w.give(10);
  CHECK_FALSE(w.read([](db::Tx& tx) {
    return billing::charged_by(tx, "01936f5e-7c1a-7000-8000-000000000007").has_value();
  }));
}

}  // namespace
