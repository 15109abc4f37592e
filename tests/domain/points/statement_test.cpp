#include "controller/domain/points/statement.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "controller/domain/ledger/closed_days.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/recorded.h"
#include "tests/domain/ledger/fold_all.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

constexpr int days_of_test = 40;

// Random movements between a user, an app and the treasury, on days with gaps between them.
struct Fixture {
  World world;
  ledger::Account user = ledger::user_account("u");
  ledger::Account app = ledger::app_account("a");
  std::int64_t first = utc_day(world.clock.now());

  explicit Fixture(unsigned seed = 1) {
    std::mt19937 random(seed);
    const auto below = [&](int most) { return int(random() % unsigned(most)); };
    world.write([&](db::Tx& tx) {
      ledger::open_account(tx, user);
      ledger::open_account(tx, app);
    });
    world.mint(user, 100);
    for (int day = 0; day < days_of_test; ++day) {
      for (int i = below(4); i > 0; --i) {
        world.clock.advance(std::chrono::minutes(below(60)));
        world.write([&](db::Tx& tx) {
          const std::int64_t amount = 1 + below(20);
          if (below(2) == 0)
            ledger::post(
                tx,
                ledger::Movement{
                    .kind = "spend", .from = user, .to = app, .amount = amount, .memo = "a hat"});
          else
            ledger::post(tx, ledger::Movement{.kind = "transfer",
                                              .from = app,
                                              .to = user,
                                              .amount = amount,
                                              .memo = "sold out"});
          fold_all(tx);
        });
      }
      world.clock.advance(24h);
    }
  }
  std::vector<points::Line> lines(const ledger::Account& account, const points::Period& period,
                                  int at_once = 3) {
    std::optional<points::Statement> statement;
    world.read([&](db::Tx& tx) { statement.emplace(tx, account, period); });
    std::vector<points::Line> all;
    while (true) {
      const auto some = world.read([&](db::Tx& tx) { return statement->next(tx, at_once); });
      CHECK(int(some.size()) <= at_once);
      if (some.empty()) break;
      all.insert(all.end(), some.begin(), some.end());
    }
    CHECK(statement->lines() == std::int64_t(all.size()));
    CHECK(statement->opening_balance() + statement->credited() - statement->debited() ==
          statement->balance());
    return all;
  }
};

TEST_CASE("each line of a statement is a posting of the ledger, and each posting is a line") {
  Fixture f(GENERATE(1u, 2u, 3u));
  const ledger::Account account = GENERATE(ledger::user_account("u"), ledger::app_account("a"));
  const auto lines = f.lines(account, {.first = f.first, .last = f.first + days_of_test});
  std::int64_t balance = 0, wrong = 0;
  for (const points::Line& line : lines) {
    balance += line.entry.amount;
    if (line.balance != balance) ++wrong;
    const auto recorded = f.world.read(
        [&](db::Tx& tx) { return ledger::find_recorded(tx, line.entry.transaction_id); });
    REQUIRE(recorded);
    const auto posted = [&](const auto& one) {
      return one.account == account && one.amount == line.entry.amount;
    };
    if (std::ranges::count_if(recorded->postings, posted) != 1) ++wrong;
    if (recorded->kind != line.entry.kind || recorded->at != line.entry.at ||
        recorded->memo != line.entry.description)
      ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(balance == f.world.balance(account));
  CHECK(std::int64_t(lines.size()) == f.world.read([&](db::Tx& tx) {
    return tx.number(
        "SELECT count(*) FROM ledger_postings p JOIN ledger_accounts a ON a.number = "
        "p.account_number WHERE a.id = $1",
        account.id());
  }));
}

TEST_CASE("the statement of each day is what the sums of that day say") {
  Fixture f;
  for (std::int64_t day = f.first - 1; day <= f.first + days_of_test + 1; ++day) {
    const ledger::Day sums =
        f.world.read([&](db::Tx& tx) { return ledger::history(tx, f.user, day, day).front(); });
    std::int64_t credited = 0, debited = 0, closing = sums.balance;
    for (const points::Line& line : f.lines(f.user, {.first = day, .last = day}, 100)) {
      (line.entry.amount > 0 ? credited : debited) += std::abs(line.entry.amount);
      closing = line.balance;
      CHECK(utc_day(line.entry.at) == day);
    }
    CHECK(credited == sums.credited);
    CHECK(debited == sums.debited);
    CHECK(closing == sums.balance);
  }
}

TEST_CASE("statements that follow each other have no gap and nothing twice") {
  Fixture f;
  const auto whole = f.lines(f.user, {.first = f.first, .last = f.first + days_of_test});
  std::vector<std::string> parts;
  for (std::int64_t day = f.first; day <= f.first + days_of_test; day += 7)
    for (const auto& line : f.lines(f.user, {.first = day, .last = day + 6}))
      parts.push_back(line.entry.transaction_id);
  REQUIRE(parts.size() == whole.size());
  size_t differing = 0;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i] != whole[i].entry.transaction_id) ++differing;
  CHECK(differing == 0);
}

TEST_CASE("a statement of today ends where it was begun, and is final once its days are closed") {
  Fixture f;
  const std::int64_t today = utc_day(f.world.clock.now());
  std::optional<points::Statement> statement;
  f.world.read([&](db::Tx& tx) {
    statement.emplace(tx, f.user, points::Period{.first = f.first, .last = today});
  });
  CHECK_FALSE(statement->is_final());
  f.world.clock.advance(1min);
  f.world.mint(f.user, 7);
  const auto lines = f.world.read([&](db::Tx& tx) { return statement->next(tx, 10'000); });
  CHECK(lines.back().balance + 7 == f.world.balance(f.user));
  CHECK(f.world.read([&](db::Tx& tx) { return statement->next(tx, 10'000); }).empty());

  f.world.clock.advance(48h);
  while (const auto day = f.world.read([](db::Tx& tx) { return ledger::next_to_close(tx); }))
    f.world.write([&](db::Tx& tx) {
      ledger::begin_closing(tx, *day);
      ledger::DayWalk walk(tx, *day);
      ledger::finish(tx, walk);
      ledger::end_closing(tx, walk);
    });
  f.world.read([&](db::Tx& tx) {
    CHECK(points::Statement(tx, f.user, {.first = f.first, .last = today}).is_final());
  });
}

TEST_CASE("an account without movements, or none at all, has an empty statement") {
  Fixture f;
  CHECK(f.lines(ledger::user_account("nobody"), {.first = f.first, .last = f.first + 1}).empty());
  CHECK(f.lines(f.user, {.first = f.first + 1'000, .last = f.first + 2'000}).empty());
  CHECK(f.lines(f.user, {.first = -400, .last = -1}).empty());
}

}  // namespace
