// Limits for what a request does with the database.
#include "controller/db/request_limits.h"

#include <catch2/catch.hpp>

#include "controller/db/failed_commits.h"
#include "controller/db/sqlite/database.h"
#include "tests/temp_dir.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using db::Readers;
using db::RequestLimits;

struct Fixture {
  TempDir dir;
  Clock clock = Clock::standing_at(from_millis(1'000'000));
  db::sqlite::Database database{
      dir / "berth.db", clock, {.readers = 1, .heavy_readers = 1, .vfs = {}}};

  std::int64_t rows(const std::string& key) {
    return database.read(
        [&](db::Tx& tx) { return tx.number("SELECT count(*) FROM meta WHERE key = $1", key); });
  }
};

// Needs far more instructions than SQLite executes between two looks at the clock.
constexpr const char* long_sum = R"(
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
    SELECT sum(n) AS total FROM numbers)";
constexpr std::int64_t sum = 5'000'050'000;
constexpr RequestLimits no_time = {.readers = Readers::ordinary, .statement_time = 0ms};

TEST_CASE("a statement of a request that takes too long is stopped, and the reader goes on") {
  Fixture f;
  const auto stopped = db::stopped_statements();
  db::limited(no_time, [&] {
    CHECK_THROWS_AS(f.database.read([](db::Tx& tx) { return tx.number(long_sum); }), db::TooSlow);
    CHECK(db::stopped_statements() == stopped + 1);
    // Short ones never get to the look at the clock.
    CHECK(f.rows("nothing") == 0);
  });
  CHECK(f.database.read([](db::Tx& tx) { return tx.number(long_sum); }) == sum);
}

TEST_CASE("threads without limits run statements as long as they take") {
  Fixture f;
  CHECK(RequestLimits::of_thread() == nullptr);
  CHECK(f.database.read([](db::Tx& tx) { return tx.number(long_sum); }) == sum);
  CHECK(f.database.write([](db::Tx& tx) { return tx.number(long_sum); }) == sum);
}

TEST_CASE("the innermost limits count, and only within their call") {
  const RequestLimits outer, inner = {.readers = Readers::heavy};
  CHECK(outer.statement_time == RequestLimits::ordinary_statement_time);
  CHECK(inner.statement_time == RequestLimits::heavy_statement_time);
  const int result = db::limited(outer, [&] {
    CHECK(RequestLimits::of_thread() == &outer);
    db::limited(inner, [&] { CHECK(RequestLimits::of_thread() == &inner); });
    CHECK_THROWS_AS(db::limited(inner, [&] { throw db::TooSlow("test"); }), db::TooSlow);
    CHECK(RequestLimits::of_thread() == &outer);
    return 1;
  });
  CHECK(result == 1);
  CHECK(RequestLimits::of_thread() == nullptr);
}

TEST_CASE("a slow query in a write undoes this write alone") {
  Fixture f;
  const auto failed = db::failed_commits();
  const auto slow = [](db::Tx& tx) {
    tx.execute("INSERT INTO meta (key, value) VALUES ('lost', '')");
    return tx.number(long_sum);
  };
  CHECK_THROWS_AS(db::limited(no_time, [&] { return f.database.write(slow); }), db::TooSlow);
  CHECK(f.rows("lost") == 0);
  CHECK(db::failed_commits() == failed);
  f.database.write([](db::Tx& tx) { tx.execute("INSERT INTO meta VALUES ('kept', '')"); });
  CHECK(f.rows("kept") == 1);
}

TEST_CASE("a long change is stopped and stores nothing, and the writer goes on") {
  Fixture f;
  const auto slow = [](db::Tx& tx) {
    tx.execute(R"(
        INSERT INTO meta (key, value)
        WITH RECURSIVE numbers (n) AS
          (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
        SELECT 'long', sum(n) FROM numbers)");
  };
  CHECK_THROWS_AS(db::limited(no_time, [&] { f.database.write(slow); }), db::TooSlow);
  CHECK(f.rows("long") == 0);
  f.database.write([](db::Tx& tx) { tx.execute("INSERT INTO meta VALUES ('kept', '')"); });
  CHECK(f.rows("kept") == 1);
}

TEST_CASE("ordinary reads don't wait for heavy ones, nor the other way round") {
  Fixture f;
  const auto read = [&] { return f.database.read([](db::Tx& tx) { return tx.now(); }); };
  const RequestLimits heavy = {.readers = Readers::heavy};
  const auto read_heavily = [&](auto&& work) {
    db::limited(heavy, [&] { f.database.read(work); });
  };
  f.database.read([&](db::Tx&) {
    read_heavily([&](db::Tx&) {
      // Now the only connection of each kind is in use.
      CHECK_THROWS_AS(read(), db::TooSlow);
      CHECK_THROWS_AS(db::limited(RequestLimits(), read), db::TooSlow);
    });
    db::limited(heavy, [&] { CHECK(read() == f.clock.now()); });
  });
  CHECK(read() == f.clock.now());
}

}  // namespace
