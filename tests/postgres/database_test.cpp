#include "controller/db/postgres/database.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <latch>
#include <limits>
#include <mutex>
#include <random>
#include <set>
#include <stop_token>
#include <thread>

#include "controller/base/error.h"
#include "controller/db/postgres/failure.h"
#include "tests/postgres/one_fault.h"
#include "tests/store.h"
#include "tests/temp_dir.h"

namespace berth::test {
namespace {

using db::postgres::Fault;
using db::postgres::Options;
using db::postgres::Server;
using namespace std::chrono_literals;

struct Fixture {
  explicit Fixture(Options options = {}) : opened(server(), clock, std::move(options)) {}
  Server server() const { return {.address = database.address(), .password_file = {}}; }

  TestDatabase database{TestDatabase::Content::schema};
  Clock clock = Clock::standing_at(*parse_iso8601("2026-01-31T12:00:00Z"));
  db::postgres::Database opened;
};

void put(db::Tx& tx, const std::string& key, const std::string& value) {
  tx.execute(R"(
      INSERT INTO meta (key, value)
      VALUES ($1, $2)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value)",
             key, value);
}
std::string value_of(db::Tx& tx, const std::string& key) {
  auto rows = tx.query(R"(SELECT value FROM meta WHERE key = $1)", key);
  return rows.next() ? rows.text("value") : "";
}
std::string value_of(db::Database& database, const std::string& key) {
  return database.read([&](db::Tx& tx) { return value_of(tx, key); });
}
// Adds one to a number, by reading and writing it.
void count_up(db::Tx& tx, const std::string& key) {
  const std::string before = value_of(tx, key);
  put(tx, key, std::to_string((before.empty() ? 0 : std::stoi(before)) + 1));
}
template <typename Work>
std::string refusal(Work&& work) {
  try {
    work();
    return "";
  } catch (const Error& error) {
    return std::to_string(status(error.code)) + " " + std::string(name(error.code));
  }
}

TEST_CASE("values come back as they were written") {
  Fixture f;
  f.opened.write([](db::Tx& tx) {
    auto rows = tx.query(R"(
        SELECT CAST($1 AS bigint) AS number, CAST($2 AS bigint) AS flag, CAST($3 AS text) AS name,
               CAST($4 AS bigint) AS at, CAST($5 AS bigint) AS no_number,
               CAST($6 AS text) AS no_name)",
                         std::int64_t(-9007199254740991), true, "Ä \"quoted\" \\ 'name' 🎲",
                         tx.now(), std::optional<std::int64_t>(), std::optional<std::string>());
    REQUIRE(rows.next());
    CHECK(rows.integer("number") == -9007199254740991);
    CHECK(rows.flag("flag"));
    CHECK(rows.text("name") == "Ä \"quoted\" \\ 'name' 🎲");
    CHECK(rows.instant("at") == tx.now());
    CHECK(rows.null("no_number"));
    CHECK(rows.integer("no_number") == 0);
    CHECK_FALSE(rows.integer_or_null("no_number"));
    CHECK(rows.text("no_name").empty());
    CHECK_FALSE(rows.text_or_null("no_name"));
    CHECK_THROWS_AS(rows.text("unknown"), std::logic_error);
    CHECK_FALSE(rows.next());
  });
}

TEST_CASE("a sum, which is a numeric there, reads as an integer") {
  Fixture f;
  CHECK(f.opened.read([](db::Tx& tx) {
    return tx.number(R"(SELECT sum(position) FROM suffix_positions)");
  }) == 495);
}

TEST_CASE("a statement is prepared for each set of its parameters' types") {
  Fixture f;
  f.opened.read([](db::Tx& tx) {
    for (int round = 0; round < 2; ++round) {
      CHECK(tx.number(R"(SELECT count(*) FROM meta WHERE $1 IS NOT NULL)", 5) == 0);
      CHECK(tx.number(R"(SELECT count(*) FROM meta WHERE $1 IS NOT NULL)", "five") == 0);
    }
  });
}

TEST_CASE("two queries with one text have rows of their own") {
  Fixture f;
  f.opened.read([](db::Tx& tx) {
    const char* sql = R"(SELECT position FROM suffix_positions ORDER BY position)";
    int pairs = 0;
    for (auto outer = tx.query(sql); outer.next();)
      for (auto inner = tx.query(sql); inner.next();) ++pairs;
    CHECK(pairs == 900);
  });
}

TEST_CASE("a text that PostgreSQL can't store is refused before it is sent") {
  Fixture f;
  for (const std::string& text : {std::string("a\0b", 3), std::string("\xff"), std::string("\xc3"),
                                  std::string("\xed\xa0\x80")})
    CHECK(refusal([&] { f.opened.write([&](db::Tx& tx) { put(tx, "a", text); }); }) ==
          "422 validation_failed");
  f.opened.write([](db::Tx& tx) {
    CHECK(refusal([&] { put(tx, "bad", "\xff"); }) == "422 validation_failed");
    put(tx, "good", "stored");
  });
  CHECK(value_of(f.opened, "good") == "stored");
}

TEST_CASE("a read sees one snapshot, and can't write") {
  Fixture f;
  f.opened.read([&](db::Tx& tx) {
    CHECK(value_of(tx, "a").empty());
    f.opened.write([](db::Tx& inner) { put(inner, "a", "1"); });
    CHECK(value_of(tx, "a").empty());
  });
  CHECK(value_of(f.opened, "a") == "1");
  CHECK_THROWS_AS(f.opened.read([](db::Tx& tx) { put(tx, "a", "2"); }), std::runtime_error);
  CHECK(value_of(f.opened, "a") == "1");
}

TEST_CASE("each statement of a committed read sees what is committed, and can't write") {
  Fixture f;
  f.opened.read_committed([&](db::Tx& tx) {
    CHECK(value_of(tx, "a").empty());
    f.opened.write([](db::Tx& inner) { put(inner, "a", "1"); });
    CHECK(value_of(tx, "a") == "1");
  });
  CHECK_THROWS_AS(f.opened.read_committed([](db::Tx& tx) { put(tx, "a", "2"); }),
                  std::runtime_error);
  CHECK(value_of(f.opened, "a") == "1");
}

TEST_CASE("a write that throws changes nothing") {
  Fixture f;
  CHECK_THROWS_AS(f.opened.write([](db::Tx& tx) {
    put(tx, "a", "1");
    throw std::out_of_range("mine");
  }),
                  std::out_of_range);
  CHECK(value_of(f.opened, "a").empty());
  CHECK(f.opened.write([](db::Tx& tx) { return value_of(tx, "a") + "-"; }) == "-");
}

TEST_CASE("only what is nested is undone when it throws") {
  Fixture f;
  f.opened.write([](db::Tx& tx) {
    put(tx, "outer", "1");
    CHECK_THROWS_AS(tx.nested([&] {
      put(tx, "inner", "1");
      tx.notify(db::Topic::chat, "inner");
      tx.execute(R"(INSERT INTO meta (key, value) VALUES ('b', NULL))");
    }),
                    db::ConstraintViolated);
    CHECK(tx.nested([&] {
      return tx.nested([&] {
        put(tx, "deep", "1");
        return 5;
      });
    }) == 5);
  });
  CHECK(value_of(f.opened, "outer") == "1");
  CHECK(value_of(f.opened, "inner").empty());
  CHECK(value_of(f.opened, "deep") == "1");
}

TEST_CASE("a statement that failed and was ignored isn't taken for a success") {
  Fixture f;
  CHECK_THROWS_AS(f.opened.write([](db::Tx& tx) {
    put(tx, "a", "1");
    try {
      tx.execute(R"(INSERT INTO meta (key, value) VALUES ('b', NULL))");
    } catch (const db::ConstraintViolated&) {
    }
  }),
                  db::ConstraintViolated);
  CHECK(value_of(f.opened, "a").empty());
}

TEST_CASE("writes that collide run again until each is stored once") {
  Fixture f;
  constexpr int threads = 8, rounds = 25;
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&] {
      for (int round = 0; round < rounds; ++round)
        f.opened.write([](db::Tx& tx) { count_up(tx, "counter"); });
    });
  all.clear();
  CHECK(value_of(f.opened, "counter") == std::to_string(threads * rounds));
  CHECK(f.opened.collisions() > 0);
  CHECK(f.opened.writes() == threads * rounds);
}

TEST_CASE("of two writes that found a key free, the second finds it taken when it runs again") {
  Fixture f;
  std::latch both_looked(2);
  int runs = 0;
  const auto claim = [&](bool& got, int& mine) {
    f.opened.write([&](db::Tx& tx) {
      got = value_of(tx, "name").empty();
      if (++mine == 1) both_looked.arrive_and_wait();
      if (got) tx.execute(R"(INSERT INTO meta (key, value) VALUES ('name', 'x'))");
    });
  };
  bool first = false, second = false;
  int other_runs = 0;
  {
    const std::jthread other([&] { claim(second, other_runs); });
    claim(first, runs);
  }
  CHECK(first != second);
  CHECK(runs + other_runs > 2);
}

TEST_CASE("a write that always violates a constraint says so") {
  Fixture f;
  int runs = 0;
  CHECK_THROWS_AS(f.opened.write([&](db::Tx& tx) {
    ++runs;
    for (int i = 0; i < 2; ++i) tx.execute(R"(INSERT INTO meta (key, value) VALUES ('name', 'x'))");
  }),
                  db::ConstraintViolated);
  CHECK(runs == 3);
  CHECK(value_of(f.opened, "name").empty());
}

TEST_CASE("writes that lock each other out run again") {
  Fixture f;
  for (const char* key : {"a", "b"}) f.opened.write([&](db::Tx& tx) { put(tx, key, "0"); });
  std::latch both(2);
  const auto lock_in_turn = [&](const std::string& first, const std::string& second) {
    bool has_waited = false;
    f.opened.write([&](db::Tx& tx) {
      put(tx, first, "1");
      if (!has_waited) both.arrive_and_wait();
      has_waited = true;
      put(tx, second, "1");
    });
  };
  {
    const std::jthread one([&] { lock_in_turn("a", "b"); });
    const std::jthread other([&] { lock_in_turn("b", "a"); });
  }
  CHECK(f.opened.collisions() > 0);
  CHECK(value_of(f.opened, "a") + value_of(f.opened, "b") == "11");
}

TEST_CASE("whichever statement collides or loses the connection, a write is stored once") {
  OneFault one{GENERATE(Fault::collision, Fault::lost_before, Fault::lost_after)};
  CAPTURE(int(one.fault));
  Fixture f({.fault = one.function()});
  std::vector<std::string> told;
  f.opened.subscribe([&](db::Topic, const std::string& id) { told.push_back(id); });
  int expected = 0;
  const auto write = [&] {
    ++expected;
    return f.opened.write([&](db::Tx& tx) {
      count_up(tx, "counter");
      tx.notify(db::Topic::chat, "outer");
      try {
        tx.nested([&] {
          tx.notify(db::Topic::chat, "inner");
          put(tx, "inner", "1");
          throw std::out_of_range("undone");
        });
      } catch (const std::exception&) {
        // What collided, too, is caught here.
      }
      return value_of(tx, "counter");
    });
  };
  CHECK(write() == "1");
  for (int statement = 1;; ++statement) {
    told.clear();
    one.left = statement;
    one.has_come = false;
    const std::string counted = write();
    CHECK(counted == std::to_string(expected));
    CHECK(told == std::vector<std::string>{"outer"});
    if (!one.has_come) break;
    CHECK(statement < 30);
  }
  one.left = 0;
  CHECK(value_of(f.opened, "counter") == std::to_string(expected));
  CHECK(value_of(f.opened, "inner").empty());
}

TEST_CASE("a write that always collides is given up") {
  Fixture f({.attempts = 3, .fault = [](std::string_view sql) {
               return sql.starts_with("COMMIT") ? Fault::collision : Fault::none;
             }});
  int runs = 0;
  CHECK(refusal([&] {
          f.opened.write([&](db::Tx& tx) {
            ++runs;
            put(tx, "a", "1");
          });
        }) == "503 unavailable");
  CHECK(runs == 3);
  CHECK(value_of(f.opened, "a").empty());
}

TEST_CASE("a read whose connection is lost ends, and the next one gets another connection") {
  int left = 0;
  // Other statements don't count, so it doesn't matter whether the read needs a new connection.
  Fixture f({.fault = [&](std::string_view sql) {
    return sql.contains("FROM meta") && left > 0 && --left == 0 ? Fault::lost_after : Fault::none;
  }});
  int runs = 0;
  const auto twice = [&](db::Tx& tx) {
    ++runs;
    value_of(tx, "a");
    value_of(tx, "a");
  };
  const bool committed = GENERATE(false, true);
  const auto read_twice = [&] {
    committed ? f.opened.read_committed(twice) : f.opened.read(twice);
  };
  read_twice();
  left = 2;
  CHECK(refusal(read_twice) == "503 unavailable");
  CHECK(runs == 2);
  read_twice();
}

TEST_CASE("a read whose connection is lost before it has got an answer runs again") {
  OneFault one{Fault::lost_after};
  Fixture f({.fault = one.function()});
  f.opened.write([](db::Tx& tx) { put(tx, "a", "1"); });
  CHECK(value_of(f.opened, "a") == "1");
  for (const int statement : {1, 2}) {
    one.left = statement;
    one.has_come = false;
    CHECK(value_of(f.opened, "a") == "1");
    CHECK(one.has_come);
  }
  for (const Fault fault : {Fault::lost_before, Fault::lost_after}) {
    one.fault = fault;
    one.left = 1;
    one.has_come = false;
    CHECK(f.opened.read_committed([](db::Tx& tx) { return value_of(tx, "a"); }) == "1");
    CHECK(one.has_come);
  }
}

void put_later(db::Tx& tx, const std::string& key, const std::string& value) {
  tx.execute_later(R"(
      INSERT INTO meta (key, value)
      VALUES ($1, $2)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value)",
                   key, value);
}
void add_later(db::Tx& tx, const std::string& key) {
  tx.execute_later(R"(INSERT INTO meta (key, value) VALUES ($1, 'later'))", key);
}

TEST_CASE("statements that wait are run in their order, before what comes behind them") {
  Fixture f;
  f.opened.write([](db::Tx& tx) {
    put_later(tx, "a", "1");
    put_later(tx, "a", "2");
    CHECK(value_of(tx, "a") == "2");
    put(tx, "a", "3");
    put_later(tx, "a", "4");
  });
  CHECK(value_of(f.opened, "a") == "4");
  // More than may wait at a time, and nothing else.
  f.opened.write([](db::Tx& tx) {
    for (int i = 1; i <= 1'000; ++i) put_later(tx, "b", std::to_string(i));
  });
  CHECK(value_of(f.opened, "b") == "1000");
}

TEST_CASE("rows that were sent for ahead are there, whatever ran meanwhile") {
  Fixture f;
  f.opened.write([](db::Tx& tx) {
    put(tx, "a", "1");
    put(tx, "b", "2");
  });
  const auto ahead = [](db::Tx& tx, const std::string& key) {
    return tx.query_later(R"(SELECT value FROM meta WHERE key = $1)", key);
  };
  const auto text = [](db::Query& rows) { return rows.next() ? rows.text("value") : "none"; };
  const auto look = [&](db::Tx& tx) {
    auto a = ahead(tx, "a"), b = ahead(tx, "b"), none = ahead(tx, "c");
    SECTION("another statement") { CHECK(value_of(tx, "b") == "2"); }
    SECTION("nothing") {}
    SECTION("a statement of the same text that was forgotten") { ahead(tx, "b"); }
    CHECK(text(b) == "2");
    CHECK(text(a) == "1");
    CHECK_FALSE(a.next());
    CHECK(text(none) == "none");
  };
  SECTION("in a snapshot") { f.opened.read(look); }
  SECTION("without one") { f.opened.read_committed(look); }
  SECTION("in a write") { f.opened.write(look); }
  SECTION("behind a statement that failed, and was undone") {
    f.opened.write([&](db::Tx& tx) {
      auto a = ahead(tx, "a");
      const auto fail = [&] { tx.execute(R"(INSERT INTO meta (key, value) VALUES ('b', '3'))"); };
      CHECK_THROWS_AS(tx.nested(fail), db::ConstraintViolated);
      CHECK(text(a) == "1");
    });
  }
}

TEST_CASE("a change that was sent ahead is made once, and counted") {
  Fixture f;
  f.opened.write([](db::Tx& tx) {
    put(tx, "a", "1");
    auto change = tx.query_later(R"(UPDATE meta SET value = value || $2 WHERE key = $1)", "a", "+");
    auto none = tx.query_later(R"(UPDATE meta SET value = '' WHERE key = $1)", "b");
    auto rows = tx.query_later(R"(SELECT value FROM meta WHERE key = $1)", "a");
    CHECK(change.run() == 1);
    CHECK(none.run() == 0);
    REQUIRE(rows.next());
    CHECK(rows.text("value") == "1+");
    // Without being sent ahead, it runs again.
    CHECK(change.run() == 1);
  });
  CHECK(value_of(f.opened, "a") == "1++");
  // One that nobody waits for isn't made.
  f.opened.write(
      [](db::Tx& tx) { tx.query_later(R"(UPDATE meta SET value = '' WHERE key = 'a')"); });
  CHECK(value_of(f.opened, "a") == "1++");
}

constexpr std::string_view take_a = R"(
    UPDATE meta
    SET value = 'taken by ' || $1
    WHERE key = 'a' AND value = 'free')";

TEST_CASE("a change that is demanded waits, and the write runs again if another one came first") {
  Fixture f;
  f.opened.write([](db::Tx& tx) { put(tx, "a", "free"); });
  const bool has_row_locks = GENERATE(false, true);
  // What is sent behind the change: nothing but COMMIT, or a statement that is answered.
  const bool reads_behind_it = GENERATE(false, true);
  CAPTURE(has_row_locks, reads_behind_it);
  const auto collisions = f.opened.collisions();
  int runs = 0;
  std::string found;
  const auto work = [&](db::Tx& tx) {
    ++runs;
    found = value_of(tx, "a");
    if (found != "free") return;
    // The other write is stored between this one's look and its change.
    f.opened.write([](db::Tx& other) { other.require_change(take_a, "another"); });
    tx.require_change(take_a, "this");
    put_later(tx, "b", "lost");
    if (reads_behind_it) value_of(tx, "b");
  };
  if (has_row_locks)
    f.opened.write_with_row_locks(work);
  else
    f.opened.write(work);
  CHECK(runs == 2);
  CHECK(found == "taken by another");
  CHECK(value_of(f.opened, "a") == "taken by another");
  CHECK(value_of(f.opened, "b").empty());
  CHECK(f.opened.collisions() == collisions + 1);
}

TEST_CASE("a change that is demanded isn't stored if it changes more than one row") {
  Fixture f({.write_time = 0ms});
  const auto work = [](db::Tx& tx) {
    put(tx, "a", "1");
    put(tx, "b", "1");
    tx.require_change(R"(UPDATE meta SET value = '2' WHERE key IN ('a', 'b'))");
  };
  CHECK(refusal([&] { f.opened.write(work); }) == "503 unavailable");
  CHECK(value_of(f.opened, "a").empty());
}

TEST_CASE("nobody hides from the engine that a write was overtaken") {
  Fixture f;
  int runs = 0;
  f.opened.write([&](db::Tx& tx) {
    if (++runs > 1) return;
    tx.require_change(R"(UPDATE meta SET value = '' WHERE key = 'nothing')");
    try {
      value_of(tx, "a");
    } catch (const std::exception&) {  // as code does that goes on after any failure
    }
  });
  CHECK(runs == 2);
}

TEST_CASE("a number that is none of 64 bits is a mistake, and NULL reads as 0") {
  Fixture f;
  const auto read = [&](std::string_view sql) {
    return f.opened.read([&](db::Tx& tx) { return tx.number(sql); });
  };
  const auto is_refused = [&](std::string_view sql) {
    CHECK_THROWS_WITH(read(sql), Catch::Contains("is no integer of 64 bits"));
  };
  is_refused(R"(SELECT sum(n) AS n FROM (VALUES (9223372036854775807), (1)) AS v (n))");
  is_refused(R"(SELECT 1.5 AS n)");
  is_refused(R"(SELECT CAST(1e15 AS DOUBLE PRECISION) AS n)");
  is_refused(R"(SELECT 'text' AS n)");
  is_refused(R"(SELECT '' AS n)");
  CHECK(read(R"(SELECT sum(n) AS n FROM (VALUES (9223372036854775806), (1)) AS v (n))") ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(read(R"(SELECT NULL AS n)") == 0);
}

TEST_CASE("berthd writes with as many connections as its processors can use") {
  CHECK(db::postgres::writers_for(0) == 8);  // unknown
  CHECK(db::postgres::writers_for(2) == 8);
  CHECK(db::postgres::writers_for(3) == 12);
  CHECK(db::postgres::writers_for(64) == 16);
}

TEST_CASE("the failure of a statement that waited undoes the write, wherever it shows") {
  Fixture f;
  f.opened.write([](db::Tx& tx) { put(tx, "there", "1"); });
  const bool reads_behind_it = GENERATE(false, true);
  CAPTURE(reads_behind_it);
  CHECK_THROWS_AS(f.opened.write([&](db::Tx& tx) {
    put(tx, "a", "1");
    add_later(tx, "there");
    put_later(tx, "b", "1");
    if (reads_behind_it) value_of(tx, "b");
  }),
                  db::ConstraintViolated);
  CHECK(value_of(f.opened, "a").empty());
  CHECK(value_of(f.opened, "b").empty());
  CHECK(value_of(f.opened, "there") == "1");
}

TEST_CASE("a statement that waited fails on its own side of nested work's bounds") {
  Fixture f;
  f.opened.write([](db::Tx& tx) { put(tx, "there", "1"); });
  // Before it: the nested work doesn't even begin.
  bool has_begun = false;
  CHECK_THROWS_AS(f.opened.write([&](db::Tx& tx) {
    add_later(tx, "there");
    tx.nested([&] { has_begun = true; });
  }),
                  db::ConstraintViolated);
  CHECK_FALSE(has_begun);
  // Within it: only the nested work is undone.
  f.opened.write([](db::Tx& tx) {
    put_later(tx, "a", "1");
    CHECK_THROWS_AS(tx.nested([&] {
      put_later(tx, "a", "2");
      add_later(tx, "there");
    }),
                    db::ConstraintViolated);
    CHECK(value_of(tx, "a") == "1");
  });
  CHECK(value_of(f.opened, "a") == "1");
}

// What a random sequence of writes at once, writes that wait, and nested work that may throw leaves
// of one value. `depth` bounds the nesting.
void take_random_steps(db::Tx& tx, std::minstd_rand& random, std::string& expected, int depth) {
  for (unsigned left = random() % 4; left > 0; --left) {
    const std::string value = std::to_string(random());
    switch (random() % 5) {
      case 0:
        put(tx, "value", value);
        expected = value;
        break;
      case 1:
        put_later(tx, "value", value);
        expected = value;
        break;
      case 2:
        REQUIRE(value_of(tx, "value") == expected);
        break;
      default: {
        if (depth == 0) break;
        const bool throws = random() % 2 == 0;
        const std::string before = expected;
        try {
          tx.nested([&] {
            take_random_steps(tx, random, expected, depth - 1);
            if (throws) throw std::out_of_range("undone");
          });
        } catch (const std::out_of_range&) {
          expected = before;
        }
      }
    }
  }
}

TEST_CASE("whatever waits in nested work, what throws is undone, and the rest is kept") {
  Fixture f;
  std::string expected;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::minstd_rand random(seed);
    f.opened.write([&](db::Tx& tx) { take_random_steps(tx, random, expected, 3); });
    REQUIRE(value_of(f.opened, "value") == expected);
  }
}

TEST_CASE("when the server has ended all connections, reads and writes go on") {
  Fixture f;
  f.opened.write([](db::Tx& tx) { put(tx, "a", "1"); });
  CHECK(value_of(f.opened, "a") == "1");
  db::postgres::Connection(f.server())
      .run(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
          "WHERE datname = current_database() AND pid <> pg_backend_pid()");
  CHECK(value_of(f.opened, "a") == "1");
  f.opened.write([](db::Tx& tx) { put(tx, "a", "2"); });
  CHECK(value_of(f.opened, "a") == "2");
}

TEST_CASE("a statement that takes too long is stopped") {
  Fixture f({.writers = 1});
  const auto stopped = db::stopped_statements();
  const auto sleep = [](db::Tx& tx) { tx.number(R"(SELECT 1 FROM pg_sleep(30))"); };
  db::limited({.readers = db::Readers::ordinary, .statement_time = 50ms}, [&] {
    CHECK_THROWS_AS(f.opened.read(sleep), db::TooSlow);
    CHECK_THROWS_AS(f.opened.read_committed(sleep), db::TooSlow);
    CHECK_THROWS_AS(f.opened.write(sleep), db::TooSlow);
    f.opened.write([](db::Tx& tx) { put(tx, "a", "1"); });
  });
  CHECK(db::stopped_statements() == stopped + 3);
  // Without limits, the same connections aren't stopped.
  const auto slow = [](db::Tx& tx) {
    tx.number(R"(SELECT 1 FROM pg_sleep(0.1))");
    return value_of(tx, "a");
  };
  CHECK(f.opened.write(slow) == "1");
  CHECK(f.opened.read(slow) == "1");
  CHECK(f.opened.read_committed(slow) == "1");
}

TEST_CASE("writes beyond the limits of the queue are refused") {
  Fixture f({.writers = 1, .max_waiting = 0});
  f.opened.write([&](db::Tx&) {
    std::jthread([&] {
      CHECK(refusal([&] { f.opened.write([](db::Tx& tx) { put(tx, "a", "1"); }); }) ==
            "503 unavailable");
    });
  });
  CHECK(value_of(f.opened, "a").empty());
}

constexpr auto patience = 30s;

bool eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

// While it exists, each commit waits for a standby that isn't there.
class WithoutStandby {
 public:
  explicit WithoutStandby(const Fixture& f) : server_(f.server()) {
    set("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  }
  ~WithoutStandby() { set("ALTER SYSTEM RESET synchronous_standby_names"); }
  WithoutStandby(const WithoutStandby&) = delete;
  WithoutStandby& operator=(const WithoutStandby&) = delete;

 private:
  void set(const std::string& sql) {
    db::postgres::Connection connection(server_);
    connection.run(sql);
    connection.run("SELECT pg_reload_conf()");
  }
  Server server_;
};

// Writes as a request does, and returns how that was refused.
std::string refused_write(Fixture& f, const std::function<void(db::Tx&)>& work) {
  return db::limited({}, [&] { return refusal([&] { f.opened.write(work); }); });
}

TEST_CASE("a write that only finds what is stored waits for the standby, too") {
  Fixture f({.write_time = 100ms, .patience = 500ms, .look_interval = 0ms});
  const auto store = [](db::Tx& tx) { put(tx, "answer", "200"); };
  const auto find = [](db::Tx& tx) { CHECK(value_of(tx, "answer") == "200"); };
  CHECK(refused_write(f, store).empty());
  CHECK(refused_write(f, find).empty());
  {
    const WithoutStandby without(f);
    // The server reads its settings some time later.
    REQUIRE(eventually([&] { return refused_write(f, store) == "503 unavailable"; }));
    CHECK(refused_write(f, find) == "503 unavailable");
  }
  REQUIRE(eventually([&] { return refused_write(f, store).empty(); }));
  CHECK(refused_write(f, find).empty());
}

TEST_CASE("subscribers hear of a write whose outcome isn't known, since it may be stored") {
  Fixture f({.write_time = 100ms, .patience = 500ms, .look_interval = 0ms});
  std::vector<std::string> told;
  f.opened.subscribe([&](db::Topic, const std::string& id) { told.push_back(id); });
  {
    const WithoutStandby without(f);
    REQUIRE(eventually([&] {
      told.clear();
      return refused_write(f, [](db::Tx& tx) {
               put(tx, "a", "1");
               tx.notify(db::Topic::chat, "channel");
             }) == "503 unavailable";
    }));
  }
  CHECK(value_of(f.opened, "a") == "1");
  CHECK(told == std::vector<std::string>{"channel"});
}

TEST_CASE("others have the rows that are released early, and the write waits for the standby") {
  Fixture f({.write_time = 100ms, .patience = 500ms, .look_interval = 0ms});
  const auto early = [](db::Tx& tx) {
    tx.release_rows_early();
    count_up(tx, "n");
  };
  CHECK(refused_write(f, early).empty());
  {
    const WithoutStandby without(f);
    REQUIRE(eventually([&] { return refused_write(f, early) == "503 unavailable"; }));
    const std::string before = value_of(f.opened, "n");
    const auto unknown = f.opened.unknown_outcomes();
    CHECK(refused_write(f, early) == "503 unavailable");
    CHECK(f.opened.unknown_outcomes() == unknown + 1);
    CHECK(std::stoi(value_of(f.opened, "n")) == std::stoi(before) + 1);
  }
  REQUIRE(eventually([&] { return refused_write(f, early).empty(); }));
}

TEST_CASE("a write that has to keep its rows until it is stored doesn't release them early") {
  Fixture f({.write_time = 100ms, .patience = 500ms, .look_interval = 0ms});
  const auto kept = [](const std::string& value) {
    return [value](db::Tx& tx) {
      tx.keep_rows_until_stored();
      tx.release_rows_early();
      put(tx, "n", value);
    };
  };
  CHECK(refused_write(f, kept("before")).empty());
  const WithoutStandby without(f);
  // The server reads its settings some time later; each write until then is stored.
  REQUIRE(eventually([&] { return refused_write(f, kept("stored")) == "503 unavailable"; }));
  std::jthread writes([&] { refused_write(f, kept("not yet")); });
  std::this_thread::sleep_for(20ms);
  CHECK(value_of(f.opened, "n") != "not yet");
}

// The server forgets what it hasn't written, as if all its processes had been killed.
void crash(const Server& server) {
  db::postgres::Connection connection(server);
  ::kill(std::stoi(connection.text("SELECT pg_backend_pid()::text")), SIGKILL);
}

TEST_CASE("what was answered outlasts a crash of the server, although its rows were released") {
  Fixture f({.write_time = 500ms, .look_interval = 0ms});
  f.opened.write([](db::Tx& tx) { put(tx, "n", "0"); });
  for (int round = 0; round < 3; ++round) {
    std::mutex mutex;
    std::vector<std::string> answered;
    {
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < 8; ++thread)
        threads.emplace_back([&, thread](const std::stop_token& stop) {
          for (int i = 0; !stop.stop_requested(); ++i) {
            const std::string key =
                std::to_string(round) + " " + std::to_string(thread) + " " + std::to_string(i);
            const std::string refused = refusal([&] {
              f.opened.write_with_row_locks([&](db::Tx& tx) {
                tx.release_rows_early();
                put(tx, key, "");
                tx.execute(R"(UPDATE meta SET value = 'all change it' WHERE key = 'n')");
              });
            });
            const std::lock_guard lock(mutex);
            if (refused.empty()) answered.push_back(key);
          }
        });
      std::this_thread::sleep_for(200ms);
      crash(f.server());
      std::this_thread::sleep_for(50ms);
    }
    REQUIRE(eventually([&] { return refusal([&] { value_of(f.opened, "n"); }).empty(); }));
    CHECK(answered.size() > 8);
    const auto kept = f.opened.read([](db::Tx& tx) {
      std::set<std::string> keys;
      auto rows = tx.query(R"(SELECT key FROM meta)");
      while (rows.next()) keys.insert(rows.text("key"));
      return keys;
    });
    for (const std::string& key : answered) CHECK(kept.contains(key));
  }
}

TEST_CASE("a server that answers some isn't away because it doesn't answer one") {
  Fixture f({.look_interval = 10ms});
  db::postgres::Connection other(f.server());
  std::string pid;
  REQUIRE(eventually([&] {
    pid = other.text(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        "AND query = 'SHOW transaction_read_only'");
    return !pid.empty();
  }));
  REQUIRE(::kill(std::stoi(pid), SIGSTOP) == 0);
  // Longer than a look may take.
  const auto end = std::chrono::steady_clock::now() + 3s;
  while (std::chrono::steady_clock::now() < end) {
    CHECK(db::limited({}, [&] { return refusal([&] { value_of(f.opened, "a"); }); }).empty());
    CHECK(refused_write(f, [](db::Tx& tx) { put(tx, "a", "1"); }).empty());
  }
  CHECK(f.opened.is_reachable());
  REQUIRE(::kill(std::stoi(pid), SIGCONT) == 0);
}

TEST_CASE("heavy reads have connections of their own") {
  Fixture f({.readers = 1, .heavy_readers = 1});
  db::limited({.readers = db::Readers::heavy}, [&] {
    f.opened.read(
        [&](db::Tx&) { db::limited({}, [&] { CHECK(value_of(f.opened, "a").empty()); }); });
  });
}

TEST_CASE("the password is read from a file for each connection") {
  TestDatabase database(TestDatabase::Content::nothing);
  const TempDir dir;
  const Clock clock;
  db::postgres::Connection admin({.address = database.address(), .password_file = {}});
  admin.run("DROP ROLE IF EXISTS berth_secret");
  admin.run("CREATE ROLE berth_secret LOGIN PASSWORD 'correct'");
  admin.run("ALTER DATABASE " + database.name() + " OWNER TO berth_secret");
  const auto open = [&](const std::string& password) {
    return db::postgres::Database({.address = database.address() + " user=berth_secret",
                                   .password_file = dir.write("password", password)},
                                  clock)
        .takes_writes();
  };
  CHECK(open("correct\n"));
  CHECK_THROWS_WITH(open("wrong\n"), Catch::Contains("authentication failed"));
  CHECK_THROWS_WITH(open(""), Catch::Contains("can't be read, or is empty"));
}

TEST_CASE("an address that can't be read or reached is told in a sentence") {
  const Clock clock;
  const auto open = [&](const std::string& address) {
    db::postgres::Database({.address = address, .password_file = {}}, clock);
  };
  CHECK_THROWS_WITH(open("postgresql://user@host/name?secret=5"),
                    Catch::Contains("can't be read") && !Catch::Contains("secret"));
  CHECK_THROWS_WITH(open("host=/nowhere dbname=berth"), Catch::Contains("/nowhere"));
}

}  // namespace
}  // namespace berth::test
