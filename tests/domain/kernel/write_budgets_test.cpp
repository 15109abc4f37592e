#include "controller/domain/kernel/write_budgets.h"

#include <catch2/catch.hpp>

#include "controller/domain/kernel/disk_room.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using write_budgets::Amount;
using write_budgets::Counts;
using write_budgets::Stores;
using write_budgets::Writer;

constexpr std::int64_t kB = 1'000, MB = 1'000'000;

Writer writer(const std::string& account, bool verified, const std::string& address = "") {
  return {.account_id = account, .is_verified = [=] { return verified; }, .address = address};
}

// Returns how much the writer may store in steps of so many bytes before it is refused.
std::int64_t stored_until_refused(Counts& counts, const Writer& who, Stores stores, Instant now,
                                  std::int64_t step = 1'000) {
  std::int64_t sum = 0;
  while (!counts.refusal(who, stores, now)) {
    counts.charge(who, stores, {.bytes = step, .rows = 0}, now);
    sum += step + write_budgets::find(stores)->later;
  }
  return sum;
}

TEST_CASE("an account may store its budget on a day, and again on the next") {
  Counts counts("key");
  const Instant noon = *parse_iso8601("2026-01-31T12:00:00Z");
  const Writer ada = writer("ada", true);
  CHECK(stored_until_refused(counts, ada, Stores::chat, noon) == 3'000 * kB);
  const auto refusal = counts.refusal(ada, Stores::chat, noon);
  REQUIRE(refusal);
  CHECK(refusal->code == Code::rate_limited);
  CHECK(refusal->retry_after == std::chrono::hours(12));
  CHECK_FALSE(counts.refusal(ada, Stores::people, noon));  // another budget
  CHECK_FALSE(counts.refusal(writer("ben", true), Stores::chat, noon));
  CHECK_FALSE(counts.refusal(ada, Stores::nothing, noon));
  CHECK_FALSE(counts.refusal(ada, Stores::administration, noon));
  CHECK_FALSE(counts.refusal(ada, Stores::chat, noon + std::chrono::hours(12)));
}

TEST_CASE("rows are limited, too") {
  Counts counts("key");
  const Instant now = *parse_iso8601("2026-01-31T12:00:00Z");
  const Writer ada = writer("ada", true);
  counts.charge(ada, Stores::chat, {.bytes = 1, .rows = 7'999}, now);
  CHECK_FALSE(counts.refusal(ada, Stores::chat, now));
  counts.charge(ada, Stores::chat, {.bytes = 1, .rows = 1}, now);
  CHECK(counts.refusal(ada, Stores::chat, now));
}

TEST_CASE(
    "the budgets of an account come to 20 MB, of an unverified one to 100 kB, of a network to "
    "200 MB") {
  const Instant now = *parse_iso8601("2026-01-31T12:00:00Z");
  std::int64_t verified = 0, unverified = 0, network = 0;
  for (const auto& budget : write_budgets::all()) {
    CAPTURE(to_string(budget.stores));
    Counts counts("key");
    const std::int64_t most = 1'000 + budget.later;  // by which one request may go beyond
    const auto of_ada = stored_until_refused(counts, writer("ada", true), budget.stores, now);
    CHECK(of_ada < budget.account.bytes + most);
    verified += of_ada;
    const auto of_eve = stored_until_refused(counts, writer("eve", false), budget.stores, now);
    CHECK((budget.unverified.bytes == 0 ? of_eve == 0 : of_eve < budget.unverified.bytes + most));
    unverified += of_eve;
    // Many accounts of one network.
    std::int64_t sum = 0;
    for (int account = 0; account < 200; ++account)
      sum += stored_until_refused(counts, writer(std::to_string(account), true, "192.0.2.1"),
                                  budget.stores, now, 20'000);
    CHECK(sum < budget.network.bytes + 20'000 + budget.later);
    network += sum;
  }
  CHECK(write_budgets::all().size() == 10);
  CHECK(verified < 20 * MB + 10 * 10 * kB);
  CHECK(unverified < 100 * kB + 10 * 10 * kB);
  CHECK(network < 200 * MB + 10 * 30 * kB);
}

TEST_CASE("an account is asked for its verification only where that matters") {
  Counts counts("key");
  const Instant now = *parse_iso8601("2026-01-31T12:00:00Z");
  int asked = 0;
  bool verified = false;
  const Writer eve = {.account_id = "eve", .is_verified = [&] { return ++asked, verified; }};
  counts.charge(eve, Stores::payments, {.bytes = 14'000, .rows = 1}, now);
  CHECK_FALSE(counts.refusal(eve, Stores::payments, now));
  CHECK(asked == 0);
  counts.charge(eve, Stores::payments, {.bytes = 1'000, .rows = 1}, now);
  CHECK(counts.refusal(eve, Stores::payments, now)->code == Code::rate_limited);
  CHECK(counts.refusal(eve, Stores::chat, now)->code == Code::email_not_verified);
  CHECK(asked == 2);
  verified = true;
  CHECK_FALSE(counts.refusal(eve, Stores::payments, now));
  CHECK_FALSE(counts.refusal(eve, Stores::payments, now));
  CHECK(asked == 3);  // once more, and then it is known
}

TEST_CASE("many networks of one neighbourhood may store as much as four of them") {
  const Instant now = *parse_iso8601("2026-01-31T12:00:00Z");
  const std::string four = GENERATE(std::string("192.0.2."), std::string("2001:db8:7:"));
  Counts counts("key", 100);
  std::int64_t sum = 0;
  for (int network = 1; network <= 20; ++network) {
    const std::string address = four.ends_with('.') ? four + std::to_string(network)
                                                    : four + std::to_string(network) + "::1";
    sum += stored_until_refused(counts, {.account_id = {}, .is_verified = {}, .address = address},
                                Stores::sign_in, now);
  }
  CHECK(sum == 4 * 50 * MB / 100);
  CHECK(write_budgets::neighbourhood_of("192.0.2.77") == "192.0.2.0/24");
  CHECK(write_budgets::neighbourhood_of("2001:db8:7:9::1") == "2001:db8:7::/48");
  CHECK(write_budgets::neighbourhood_of("nonsense").empty());
}

TEST_CASE("a restart and another berthd know what was stored") {
  World world;
  const Instant now = world.clock.now();
  const Writer ada = writer("ada", true);
  Counts first("key"), second("key");
  first.charge(ada, Stores::chat, {.bytes = 100'000, .rows = 1}, now);
  first.flush(world.db, now);
  const auto rows = [&] {
    return world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM write_counts"); });
  };
  CHECK(rows() == 0);  // little isn't worth a row
  first.charge(ada, Stores::chat, {.bytes = 1'500'000, .rows = 1}, now);
  first.flush(world.db, now);
  CHECK(rows() == 1);
  second.charge(ada, Stores::chat, {.bytes = 1'450'000, .rows = 1}, now);
  CHECK_FALSE(second.refusal(ada, Stores::chat, now));
  second.flush(world.db, now);
  CHECK(second.refusal(ada, Stores::chat, now));
  CHECK_FALSE(first.refusal(ada, Stores::chat, now));
  first.flush(world.db, now);
  CHECK(first.refusal(ada, Stores::chat, now));
  Counts restarted("key");
  restarted.flush(world.db, now);
  CHECK(restarted.refusal(ada, Stores::chat, now));
  CHECK_FALSE(restarted.refusal(writer("ben", true), Stores::chat, now));
  // Names stay out of the database.
  CHECK(world.read([](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM write_counts WHERE subject_hash LIKE '%ada%'");
  }) == 0);
  world.clock.advance(std::chrono::hours(24));
  CHECK_FALSE(restarted.refusal(ada, Stores::chat, world.clock.now()));
  CHECK(world.write([](db::Tx& tx) {
    return write_budgets::is_any_old(tx) ? write_budgets::remove_old(tx, 10) : 0;
  }) == 1);
  CHECK(rows() == 0);
}

TEST_CASE("what can't be written down is written down later") {
  World world;
  const Instant now = world.clock.now();
  Counts counts("key");
  counts.charge(writer("ada", true), Stores::chat, {.bytes = 1'500'000, .rows = 1}, now);
  world.write([](db::Tx& tx) { tx.execute("ALTER TABLE write_counts RENAME TO away"); });
  CHECK_THROWS(counts.flush(world.db, now));
  world.write([](db::Tx& tx) { tx.execute("ALTER TABLE away RENAME TO write_counts"); });
  counts.flush(world.db, now);
  CHECK(world.read([](db::Tx& tx) { return tx.number("SELECT bytes FROM write_counts"); }) ==
        1'500'000);
}

TEST_CASE("counts take a bounded room") {
  Counts counts("key", 1, 100);
  const Instant now = *parse_iso8601("2026-01-31T12:00:00Z");
  for (int i = 0; i < 1'000; ++i)
    counts.charge(writer(std::to_string(i), true, "10.0." + std::to_string(i % 250) + ".1"),
                  Stores::chat, {.bytes = 1, .rows = 1}, now);
  CHECK(counts.size() == 200);
}

TEST_CASE("strangers are refused before the disk is full, and operators after them") {
  constexpr std::int64_t GiB = std::int64_t(1) << 30;
  CHECK(stage_of({.total = 1'000 * GiB, .free = GiB}) == DiskStage::ample);
  CHECK(stage_of({.total = 1'000 * GiB, .free = GiB - 1}) == DiskStage::low);
  CHECK(stage_of({.total = 1'000 * GiB, .free = GiB / 2 - 1}) == DiskStage::very_low);
  CHECK(stage_of({.total = GiB, .free = GiB / 5}) == DiskStage::ample);
  CHECK(stage_of({.total = GiB, .free = GiB / 11}) == DiskStage::low);
  CHECK(stage_of({.total = GiB, .free = GiB / 21}) == DiskStage::very_low);
  int looks = 0;
  DiskRoom room([&]() -> std::optional<DiskSpace> {
    ++looks;
    return DiskSpace{.total = GiB, .free = looks == 1 ? 0 : GiB};
  });
  const auto now = std::chrono::steady_clock::now();
  CHECK(room.stage(now) == DiskStage::very_low);
  CHECK(room.stage(now) == DiskStage::very_low);
  CHECK(looks == 1);
  CHECK(room.stage(now + DiskRoom::looked_at_every) == DiskStage::ample);
  CHECK(DiskRoom().stage() == DiskStage::ample);
}

TEST_CASE("a write is measured, and a write that was undone isn't") {
  World world;
  db::WriteMeter meter;
  world.write([](db::Tx& tx) {
    tx.execute("INSERT INTO meta (key, value) VALUES ($1, $2)", "k", std::string(1'000, 'v'));
  });
  CHECK(meter.total().rows == 1);
  CHECK(meter.total().bytes == 40 + 2 * 1'001);
  const auto before = meter.total().bytes;
  world.write([](db::Tx& tx) {
    tx.execute("UPDATE meta SET value = $2 WHERE key = $1", "k", std::string(500, 'w'));
  });
  CHECK(meter.total().bytes == before + 500);
  CHECK_THROWS(world.write([](db::Tx& tx) {
    tx.execute("INSERT INTO meta (key, value) VALUES ($1, $2)", "l", "v");
    throw Error(Code::unavailable, "not now");
  }));
  world.write([](db::Tx& tx) { tx.execute("DELETE FROM meta WHERE key = $1", "k"); });
  world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM meta"); });
  CHECK(meter.total().bytes == before + 500);
  CHECK(meter.total().rows == 1);
}

}  // namespace
