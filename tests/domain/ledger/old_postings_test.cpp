#include "controller/domain/ledger/old_postings.h"

#include <catch2/catch.hpp>
#include <map>

#include "controller/db/sqlite/database.h"
#include "controller/domain/ledger/closed_days.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "controller/domain/ledger/memo_erasure.h"
#include "controller/domain/ledger/running_audit.h"
#include "controller/domain/points/points.h"
#include "tests/domain/ledger/old_ledger.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

const ledger::Account u = ledger::user_account("u"), v = ledger::user_account("v"),
                      a = ledger::app_account("a");
constexpr const char* too_early = "503 unavailable";

std::string text_of(const points::Entry& entry) {
  return entry.transaction_id + " " + entry.kind + " " + std::to_string(entry.amount) + " " +
         entry.description + " " + entry.counterparty.id() + " " + to_iso8601(entry.at);
}

// The histories as an older berthd answered them: by time, and by the order of posting.
std::vector<std::string> old_history(const std::string& account) {
  struct Row {
    Instant at;
    std::string text;
  };
  std::vector<Row> rows;
  for (const OldTransaction& one : old_transactions())
    for (const OldLeg& leg : one.legs)
      for (const bool incoming : {false, true})
        if ((incoming ? leg.to : leg.from) == account)
          rows.push_back({.at = one.at,
                          .text = one.id + " " + one.kind + " " +
                                  std::to_string(incoming ? leg.amount : -leg.amount) + " " +
                                  one.memo + " " + (incoming ? leg.from : leg.to) + " " +
                                  to_iso8601(one.at)});
  std::ranges::stable_sort(rows, {}, &Row::at);
  std::vector<std::string> texts;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) texts.push_back(row->text);
  return texts;
}

struct Fixture {
  TempDir dir;
  Clock clock;
  std::optional<db::sqlite::Database> database;

  explicit Fixture(Instant now = old_first_day + 36h) : clock(Clock::standing_at(now)) {
    make_old_ledger(dir / "berth.db");
    open();
    CHECK(number("SELECT indexes FROM ledger_old_rows") == 5);
    while (number("SELECT indexes FROM ledger_old_rows") > 0) move(1);
    CHECK(number("SELECT moved FROM ledger_old_rows") == 0);
  }
  // As after berthd was killed.
  void open() {
    database.reset();
    database.emplace(dir / "berth.db", clock, db::sqlite::Options{.readers = 2, .vfs = {}});
  }
  template <typename Work>
  auto read(Work&& work) {
    return database->read(std::forward<Work>(work));
  }
  bool is_left() { return read(ledger::has_old_tables); }
  void move(int limit) {
    database->write([&](db::Tx& tx) { ledger::move_old_rows(tx, limit); });
  }
  void move_all() {
    while (is_left()) move(1'000);
  }
  Page<points::Entry> page(const ledger::Account& account, const points::Filter& filter,
                           const PageRequest& request) {
    return read([&](db::Tx& tx) { return points::history(tx, account, filter, request); });
  }
  // Walks the whole history, page by page.
  std::vector<std::string> history(const ledger::Account& account,
                                   const points::Filter& filter = {}, int page_size = 3) {
    std::vector<std::string> texts;
    PageRequest request = {.page_size = page_size};
    do {
      const auto found = page(account, filter, request);
      for (const auto& entry : found.items) texts.push_back(text_of(entry));
      request.after = found.next;
    } while (request.after);
    return texts;
  }
  void spend(std::int64_t amount) {
    database->write([&](db::Tx& tx) {
      REQUIRE(
          ledger::post(tx, {.kind = "spend", .from = u, .to = a, .amount = amount, .memo = "new"}));
    });
  }
  std::vector<std::string> broken() {
    std::vector<std::string> found;
    for (const auto& check : read(ledger::audit))
      if (!check.ok) found.push_back(check.name + ": " + check.detail);
    return found;
  }
  std::int64_t number(const char* sql) {
    return read([&](db::Tx& tx) { return tx.number(sql); });
  }
};

TEST_CASE("histories are the same after the rows of an older berthd were moved", "[sqlite]") {
  const int batch = GENERATE(1, 3, 1'000);
  Fixture f;
  int batches = 0;
  for (; f.is_left(); ++batches) {
    f.move(batch);
    if (batches % 2 == 0) f.open();
  }
  CHECK(batches == (int(old_transactions().size()) + batch - 1) / batch + 1);
  CHECK(f.history(u) == old_history("user:u"));
  CHECK(f.history(v) == old_history("user:v"));
  CHECK(f.history(a, {}, 1) == old_history("app:a"));
  CHECK(f.history(ledger::treasury(), {}, 100) == old_history("treasury"));
  CHECK(f.broken() == std::vector<std::string>{});
  CHECK(f.number("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%_old'") == 0);
  CHECK_FALSE(f.read(ledger::old_rows));
  f.move(1);  // changes nothing
}

TEST_CASE("filters find the moved rows by kind, direction and time", "[sqlite]") {
  Fixture f;
  f.move_all();
  const auto of = [&](const points::Filter& filter) {
    auto texts = old_history("user:u");
    std::erase_if(texts, [&](const std::string& text) {
      const bool incoming = text.find(" -") == std::string::npos;
      return (filter.kind && text.find(" " + *filter.kind + " ") == std::string::npos) ||
             (filter.direction && incoming != (*filter.direction == points::Direction::in)) ||
             (filter.from && text.substr(text.size() - 24) < to_iso8601(*filter.from)) ||
             (filter.until && text.substr(text.size() - 24) >= to_iso8601(*filter.until));
    });
    return texts;
  };
  const Instant eleven = old_first_day + 11h;
  const points::Filter filter = GENERATE_REF(
      points::Filter{.kind = "spend", .direction = {}, .from = {}, .until = {}},
      points::Filter{.kind = {}, .direction = points::Direction::in, .from = {}, .until = {}},
      points::Filter{.kind = {}, .direction = points::Direction::out, .from = eleven, .until = {}},
      points::Filter{.kind = {}, .direction = {}, .from = eleven, .until = eleven + 1ms},
      points::Filter{.kind = {}, .direction = {}, .from = {}, .until = eleven},
      points::Filter{.kind = "nothing", .direction = {}, .from = {}, .until = {}});
  CHECK(f.history(u, filter) == of(filter));
}

TEST_CASE("a batch that fails moves nothing, and what is moved is nowhere twice", "[sqlite]") {
  Fixture f;
  const std::int64_t all = f.number("SELECT count(*) FROM ledger_postings_old");
  const auto count = [&] {
    return f.number(
        "SELECT (SELECT count(*) FROM ledger_postings) + "
        "(SELECT count(*) FROM ledger_postings_old)");
  };
  CHECK_THROWS(f.database->write([](db::Tx& tx) {
    ledger::move_old_rows(tx, 5);
    throw std::runtime_error("killed");
  }));
  CHECK(f.number("SELECT count(*) FROM ledger_postings") == 0);
  f.move(5);
  f.open();
  CHECK(f.number("SELECT count(*) FROM ledger_postings") == 10);
  CHECK(count() == all);
  CHECK(f.read(ledger::old_rows)->left() == all - 10);
}

TEST_CASE("pages are answered as far as the rows are moved, and what is new works at once",
          "[sqlite]") {
  Fixture f;
  CHECK(f.read([](db::Tx& tx) { return ledger::balance(tx, a); }) > 0);
  CHECK(refusal([&] { f.page(u, {}, {.page_size = 1}); }) == too_early);
  for (int i = 0; i < 4; ++i) f.spend(1);
  const auto newest = f.page(u, {}, {.page_size = 3});
  CHECK(newest.items.size() == 3);
  CHECK(newest.total_is_at_least);
  CHECK(refusal([&] { f.page(u, {}, {.page_size = 4}); }) == too_early);
  CHECK(refusal([&] { f.page(u, {}, {.page_size = 3, .after = newest.next}); }) == too_early);
  const points::Filter lately = {
      .kind = {}, .direction = {}, .from = old_first_day + 30h, .until = {}};
  CHECK(f.page(u, lately, {.page_size = 100}).total == 4);
  try {
    f.page(a, {}, {.page_size = 100});
    FAIL("the page was answered");
  } catch (const Error& error) {
    CHECK(error.retry_after.has_value());
  }
  // Each page is refused or right, whatever is moved already.
  const auto expected = [&] {
    auto texts = old_history("user:u");
    for (const auto& entry : newest.items) texts.insert(texts.begin(), text_of(entry));
    return texts.size() + 1;
  }();
  size_t answered = 0;
  while (f.read(ledger::old_rows)) {
    f.move(1);
    for (const int size : {1, 5, 20}) {
      Page<points::Entry> page;
      if (refusal([&] { page = f.page(u, {}, {.page_size = size}); }) == too_early) continue;
      ++answered;
      const auto old = old_history("user:u");
      for (size_t i = 4; i < page.items.size(); ++i)
        REQUIRE(text_of(page.items[i]) == old.at(i - 4));
    }
  }
  CHECK(answered > 10);
  CHECK(f.history(u).size() == expected);
  CHECK(f.broken() == std::vector<std::string>{});
}

TEST_CASE("an account of a later day has all of its pages at once", "[sqlite]") {
  Fixture f(old_first_day + 60h);
  const ledger::Account w = ledger::user_account("w");
  f.database->write([&](db::Tx& tx) {
    ledger::open_account(tx, w);
    REQUIRE(ledger::post(tx, {.kind = "transfer", .from = u, .to = w, .amount = 1, .memo = ""}));
  });
  const auto page = f.page(w, {}, {.page_size = 20});
  CHECK(page.total == 1);
  CHECK_FALSE(page.total_is_at_least);
}

TEST_CASE("postings of the millisecond in which the older berthd ended come after its own",
          "[sqlite]") {
  Fixture f(old_transactions().back().at);
  f.spend(1);
  f.spend(2);
  f.move_all();
  const auto texts = f.history(u);
  const auto old = old_history("user:u");
  REQUIRE(texts.size() == old.size() + 2);
  CHECK(texts[0].find(" spend -2 new") != std::string::npos);
  CHECK(texts[1].find(" spend -1 new") != std::string::npos);
  CHECK(std::vector(texts.begin() + 2, texts.end()) == old);
}

TEST_CASE("days that an older berthd closed verify with the hash that it gave them", "[sqlite]") {
  Fixture f;
  CHECK(refusal([&] { f.read(ledger::running_audit); }) == too_early);
  f.move_all();
  const auto finding =
      f.read([](db::Tx& tx) { return ledger::check_closed_day(tx, utc_day(old_first_day)); });
  CHECK(finding.checked == 1);
  CHECK(finding.first == "");
  for (const auto& check : f.read(ledger::running_audit)) {
    INFO(check.name << ": " << check.detail);
    CHECK(check.ok);
  }
}

TEST_CASE("positions of an older berthd are refused", "[sqlite]") {
  Fixture f;
  f.move_all();
  const Position older = {to_millis(old_first_day + 11h), std::int64_t(9)};
  CHECK(refusal([&] { f.page(u, {}, {.page_size = 3, .after = older}); }) ==
        "422 validation_failed");
}

TEST_CASE("memos are emptied after the rows are moved", "[sqlite]") {
  Fixture f;
  f.database->write([](db::Tx& tx) {
    tx.execute("PRAGMA defer_foreign_keys = ON");
    ledger::erase_memos_later(tx, v, "v");
    CHECK(ledger::erase_memos(tx, "v", 100) == 0);
    CHECK(ledger::has_memos(tx, "v"));
    while (ledger::has_old_tables(tx)) ledger::move_old_rows(tx, 7);
    CHECK(ledger::erase_memos(tx, "v", 100) > 0);
    CHECK_FALSE(ledger::has_memos(tx, "v"));
    CHECK(tx.number("SELECT count(*) FROM ledger_transactions WHERE memo = ''") == 1);
  });
}

TEST_CASE("old rows that can't be moved stay, and nothing else is lost", "[sqlite]") {
  Fixture f;
  f.database->write([](db::Tx& tx) {
    tx.execute("INSERT INTO ledger_transactions_old VALUES ('no uuid', 'spend', '', 5)");
  });
  while (f.number("SELECT count(*) FROM ledger_postings_old") > 0) f.move(1'000);
  CHECK_THROWS(f.move(1'000));
  CHECK(f.number("SELECT count(*) FROM ledger_transactions_old") == 1);
  CHECK(f.is_left());
}

}  // namespace
