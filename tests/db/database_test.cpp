#include "controller/db/sqlite/database.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "controller/base/error.h"
#include "tests/db/groups.h"
#include "tests/db/rows.h"
#include "tests/temp_dir.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  TempDir dir;
  std::filesystem::path file = dir / "berth.db";
  Clock clock = Clock::standing_at(from_millis(1'000'000));
  std::optional<db::sqlite::Database> opened;
  explicit Fixture(db::sqlite::Options options = {.readers = 2, .vfs = {}}) {
    opened.emplace(file, clock, options);
  }
  db::Database& database() { return *opened; }
};

TEST_CASE("a write returns what its work returned, and others see it at once") {
  Fixture f;
  const int answer = f.database().write([](db::Tx& tx) {
    put(tx, "a", "1");
    return 42;
  });
  CHECK(answer == 42);
  CHECK(seen_from_outside(f.file) == Rows{{"a", "1"}});
  CHECK(f.database().read(all) == Rows{{"a", "1"}});
}

TEST_CASE("a change that is demanded has to change one row") {
  Fixture f;
  f.database().write([](db::Tx& tx) {
    put(tx, "a", "1");
    put(tx, "b", "1");
    tx.require_change("UPDATE meta SET value = '2' WHERE key = 'a' AND value = '1'");
  });
  CHECK(f.database().read(all) == Rows{{"a", "2"}, {"b", "1"}});
  const auto demand = [&](std::string_view sql) {
    f.database().write([&](db::Tx& tx) {
      put(tx, "c", "lost");
      tx.require_change(sql);
    });
  };
  CHECK_THROWS_AS(demand("UPDATE meta SET value = '3' WHERE key = 'a' AND value = '1'"),
                  db::Overtaken);
  CHECK_THROWS_AS(demand("DELETE FROM meta WHERE key IN ('a', 'b')"), db::Overtaken);
  CHECK(f.database().read(all) == Rows{{"a", "2"}, {"b", "1"}});
}

TEST_CASE("a transaction knows what it may rely on") {
  Fixture f;
  const auto isolation = [](db::Tx& tx) { return tx.isolation(); };
  CHECK(f.database().read(isolation) == db::Isolation::read);
  CHECK(f.database().read_committed(isolation) == db::Isolation::read);
  CHECK(f.database().write(isolation) == db::Isolation::serializable);
  CHECK(f.database().write_with_row_locks(isolation) == db::Isolation::row_locks);
  const auto demand = [](db::Tx& tx) { tx.require_serializable(); };
  f.database().write(demand);
  CHECK_THROWS_AS(f.database().read(demand), std::logic_error);
  CHECK_THROWS_AS(f.database().read_committed(demand), std::logic_error);
  CHECK_THROWS_AS(f.database().write_with_row_locks(demand), std::logic_error);
}

TEST_CASE("a number that is no integer is a mistake, and NULL reads as 0") {
  Fixture f;
  const auto read = [&](std::string_view sql) {
    return f.database().read([&](db::Tx& tx) { return tx.number(sql); });
  };
  CHECK_THROWS_AS(read("SELECT 'text' AS n"), std::logic_error);
  CHECK_THROWS_AS(read("SELECT '12' AS n"), std::logic_error);
  CHECK_THROWS_AS(read("SELECT 1.5 AS n"), std::logic_error);
  CHECK_THROWS_AS(read("SELECT 9223372036854775807 + 1 AS n"), std::logic_error);
  CHECK(read("SELECT 9223372036854775807 AS n") == 9'223'372'036'854'775'807);
  CHECK(read("SELECT NULL AS n") == 0);
}

TEST_CASE("what was deleted can't be read in the file any more") {
  Fixture f;
  constexpr int rows = 500;
  const std::string secret = "a letter that nobody should find";
  f.database().write([&](db::Tx& tx) {
    for (int i = 0; i < rows; ++i) put(tx, "k" + std::to_string(i), secret);
  });
  const auto found = [&] {
    f.opened.reset();  // the last connection moves the WAL into the file
    std::ifstream in(f.file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    f.opened.emplace(f.file, f.clock, db::sqlite::Options{.readers = 2, .vfs = {}});
    return bytes.find(secret) != std::string::npos;
  };
  CHECK(found());
  f.database().write([](db::Tx& tx) { tx.execute("DELETE FROM meta WHERE key LIKE 'k%'"); });
  CHECK_FALSE(found());
}

TEST_CASE("a read sees everything that was answered before it began") {
  Fixture f({.readers = 4, .vfs = {}});
  std::atomic<int> answered = 0;
  std::atomic<bool> over = false;
  std::atomic<int> stale = 0;
  std::vector<std::thread> threads;
  for (int reader = 0; reader < 6; ++reader)
    threads.emplace_back([&] {
      while (!over) {
        const int least = answered;
        const auto seen = f.database().read(
            [](db::Tx& tx) { return tx.number("SELECT count(*) FROM meta WHERE key LIKE 'n%'"); });
        if (seen < least) ++stale;
      }
    });
  for (int i = 0; i < 300; ++i) {
    f.database().write([&](db::Tx& tx) { put(tx, "n" + std::to_string(i)); });
    answered = i + 1;
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(stale == 0);
}

TEST_CASE("the WAL starts again from its beginning, even while others keep reading") {
  Fixture f({.readers = 4, .vfs = {}});
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (int reader = 0; reader < 4; ++reader)
    threads.emplace_back([&] {
      while (!over) f.database().read(all);
    });
  const std::string large(100'000, 'x');
  constexpr std::uintmax_t written = 600 * 100'000;
  for (int i = 0; i < 600; ++i)
    f.database().write([&](db::Tx& tx) { put(tx, "large", std::to_string(i) + large); });
  over = true;
  for (std::thread& thread : threads) thread.join();
  // The WAL usually has about 16 MB; a reader at a bad moment makes it longer for a while.
  CHECK(std::filesystem::file_size(f.file.string() + "-wal") < written / 2);
}

TEST_CASE("a read that fails leaves nothing behind for the next one") {
  Fixture f({.readers = 1, .vfs = {}});
  CHECK_THROWS_AS(f.database().read([](db::Tx& tx) { return tx.number("SELECT nothing"); }),
                  SQLite::Exception);
  CHECK_THROWS_AS(f.database().read([](db::Tx& tx) { return tx.execute("DELETE FROM meta"); }),
                  SQLite::Exception);
  CHECK_THROWS_AS(f.database().read([](db::Tx& tx) {
    tx.execute("ROLLBACK");
    throw 1;
  }),
                  int);
  f.database().write([](db::Tx& tx) { put(tx, "a", "1"); });
  CHECK(f.database().read(all) == Rows{{"a", "1"}});
}

TEST_CASE("an exception from the work reaches the caller, and its changes are undone") {
  Fixture f;
  CHECK_THROWS_AS(f.database().write([](db::Tx& tx) {
    put(tx, "a");
    throw std::out_of_range("mine");
  }),
                  std::out_of_range);
  CHECK(f.database().read(all).empty());
  try {
    f.database().write([](db::Tx& tx) {
      put(tx, "b");
      throw invalid_field("name", "is wrong");
    });
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code == Code::validation_failed);
    CHECK(error.details.contains("name"));
  }
  CHECK(seen_from_outside(f.file).empty());
}

TEST_CASE("a mistake in SQL is the caller's and doesn't count as a fault of the disk") {
  Fixture f;
  CHECK_THROWS_AS(
      f.database().write([](db::Tx& tx) { tx.execute("INSERT INTO nowhere VALUES (1)"); }),
      SQLite::Exception);
  CHECK_THROWS_AS(f.database().write([](db::Tx& tx) {
    tx.execute("INSERT INTO meta (key, value) VALUES ('a', NULL)");
  }),
                  db::ConstraintViolated);
  CHECK(f.database().takes_writes());
  CHECK(f.database().read(all).empty());
}

TEST_CASE("writes in a group fail alone") {
  for (int attempt = 0; attempt < 20; ++attempt) {
    Fixture f;
    const auto before = f.database().commits();
    const auto outcomes = together(
        f.database(), {
                          [](db::Tx& tx) { put(tx, "a"); },
                          [](db::Tx& tx) {
                            put(tx, "b");
                            throw invalid_field("b", "is wrong");
                          },
                          [](db::Tx& tx) { put(tx, "c"); },
                          [](db::Tx& tx) {
                            put(tx, "d");
                            tx.execute("INSERT INTO meta (key, value) VALUES ('d', 'twice')");
                          },
                          [](db::Tx& tx) { put(tx, "e"); },
                      });
    CHECK(outcomes[0].stored());
    CHECK(outcomes[1].refused == Code::validation_failed);
    CHECK(outcomes[2].stored());
    CHECK(outcomes[3].other.find("UNIQUE") != std::string::npos);
    CHECK(outcomes[4].stored());
    CHECK(f.database().read(all) == Rows{{"a", "x"}, {"c", "x"}, {"e", "x"}});
    // The write that held the writer, and this one.
    if (f.database().commits() - before == 2) return;
  }
  FAIL("the writes never met in one group");
}

TEST_CASE("a read sees one snapshot, whatever is written meanwhile") {
  Fixture f;
  f.database().write([](db::Tx& tx) { put(tx, "a", "old"); });
  f.database().read([&](db::Tx& tx) {
    CHECK(all(tx) == Rows{{"a", "old"}});
    std::jthread([&] {
      f.database().write([](db::Tx& other) {
        put(other, "a", "new");
        put(other, "b");
      });
    }).join();
    CHECK(seen_from_outside(f.file) == Rows{{"a", "new"}, {"b", "x"}});
    CHECK(all(tx) == Rows{{"a", "old"}});
  });
  CHECK(f.database().read(all) == Rows{{"a", "new"}, {"b", "x"}});
}

TEST_CASE("a read can't write") {
  Fixture f;
  CHECK_THROWS_AS(f.database().read([](db::Tx& tx) { put(tx, "a"); }), SQLite::Exception);
  CHECK(f.database().read(all).empty());
}

TEST_CASE("an exception from a read ends its snapshot and returns its connection") {
  Fixture f({.readers = 1, .vfs = {}});
  for (int i = 0; i < 3; ++i)
    CHECK_THROWS_AS(f.database().read([](db::Tx& tx) {
      all(tx);
      throw std::runtime_error("mine");
    }),
                    std::runtime_error);
  f.database().write([](db::Tx& tx) { put(tx, "a"); });
  CHECK(f.database().read(all).size() == 1);
}

TEST_CASE("nested work is undone on its own") {
  Fixture f;
  const int answer = f.database().write([](db::Tx& tx) {
    put(tx, "before");
    CHECK_THROWS_AS(tx.nested([&] {
      put(tx, "inside");
      tx.nested([&] { put(tx, "deeper"); });
      throw invalid_field("inside", "is wrong");
    }),
                    Error);
    CHECK_FALSE(has(tx, "inside"));
    CHECK_FALSE(has(tx, "deeper"));
    tx.nested([&] { put(tx, "kept"); });
    return tx.nested([&] { return 7; });
  });
  CHECK(answer == 7);
  CHECK(seen_from_outside(f.file) == Rows{{"before", "x"}, {"kept", "x"}});
}

TEST_CASE("nested work that succeeded is undone with the write that fails around it") {
  Fixture f;
  CHECK_THROWS_AS(f.database().write([](db::Tx& tx) {
    tx.nested([&] { put(tx, "kept"); });
    throw std::runtime_error("mine");
  }),
                  std::runtime_error);
  CHECK(f.database().read(all).empty());
}

TEST_CASE("subscribers are notified once a write can be seen, and before it is answered") {
  Fixture f;
  std::vector<std::string> heard;
  std::vector<size_t> rows_then;
  f.database().subscribe([&](db::Topic topic, const std::string& id) {
    CHECK(topic == db::Topic::deployment);
    heard.push_back(id);
    rows_then.push_back(seen_from_outside(f.file).size());
  });
  int second = 0;
  f.database().subscribe([&](db::Topic, const std::string&) { ++second; });
  f.database().write([](db::Tx& tx) {
    tx.notify(db::Topic::deployment, "one");
    put(tx, "a");
    put(tx, "b");
    tx.notify(db::Topic::deployment, "two");
  });
  CHECK(heard == std::vector<std::string>{"one", "two"});
  CHECK(rows_then == std::vector<size_t>{2, 2});
  CHECK(second == 2);
}

TEST_CASE("subscribers aren't notified of what was undone") {
  Fixture f;
  std::vector<std::string> heard;
  f.database().subscribe([&](db::Topic, const std::string& id) { heard.push_back(id); });
  CHECK_THROWS(f.database().write([](db::Tx& tx) {
    tx.notify(db::Topic::deployment, "failed");
    throw std::runtime_error("mine");
  }));
  f.database().write([](db::Tx& tx) {
    tx.notify(db::Topic::deployment, "outer");
    try {
      tx.nested([&] {
        tx.notify(db::Topic::deployment, "inner");
        throw std::runtime_error("mine");
      });
    } catch (const std::runtime_error&) {
    }
    tx.nested([&] { tx.notify(db::Topic::deployment, "kept"); });
  });
  CHECK(heard == std::vector<std::string>{"outer", "kept"});
}

TEST_CASE("many threads write and read at once, and nothing is lost") {
  Fixture f({.readers = 3, .vfs = {}});
  constexpr int threads = 8, each = 40;
  std::atomic<int> torn = 0;
  {
    std::vector<std::jthread> running;
    for (int t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        for (int i = 0; i < each; ++i) {
          const std::string key = std::to_string(t) + "/" + std::to_string(i);
          f.database().write([&](db::Tx& tx) {
            put(tx, key + "/left");
            put(tx, key + "/right");
          });
          // Of every write, both halves are there or none; and this thread's own write is there.
          const bool whole = f.database().read([&](db::Tx& tx) {
            return tx.number("SELECT count(*) FROM meta") % 2 == 0 && has(tx, key + "/left");
          });
          if (!whole) ++torn;
        }
      });
  }
  CHECK(torn == 0);
  CHECK(f.database().read(all).size() == size_t(2 * threads * each));
  CHECK(f.database().writes() == std::uint64_t(threads * each));
  CHECK(f.database().commits() <= f.database().writes());
}

TEST_CASE("above max_waiting a write is refused as unavailable") {
  Fixture f({.readers = 1, .max_waiting = 1, .vfs = {}});
  std::atomic<int> refused = 0, stored = 0;
  {
    HeldWriter held(f.database());
    std::vector<std::jthread> running;
    for (int i = 0; i < 3; ++i)
      running.emplace_back([&, i] {
        const auto outcome =
            outcome_of(f.database(), [&](db::Tx& tx) { put(tx, std::to_string(i)); });
        if (outcome.stored()) ++stored;
        if (outcome.refused == Code::unavailable) ++refused;
      });
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (refused < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    CHECK(refused == 2);
    held.release();
  }
  CHECK(stored == 1);
  CHECK(f.database().read(all).size() == 1);
}

TEST_CASE("a group is no larger than max_group") {
  for (int attempt = 0; attempt < 20; ++attempt) {
    Fixture f({.readers = 1, .max_group = 2, .vfs = {}});
    const auto before = f.database().commits();
    std::vector<std::function<void(db::Tx&)>> jobs(4, [](db::Tx& tx) { put(tx, "a"); });
    for (const Outcome& outcome : together(f.database(), jobs)) CHECK(outcome.stored());
    CHECK(f.database().commits() - before >= 3);
    if (f.database().commits() - before == 3) return;
  }
  FAIL("the writes never met in groups of two");
}

TEST_CASE("a transaction has one instant") {
  Fixture f;
  f.database().write([&](db::Tx& tx) {
    const Instant before = tx.now();
    f.clock.advance(5s);
    CHECK(tx.now() == before);
  });
  CHECK(f.database().read([](db::Tx& tx) { return tx.now(); }) == from_millis(1'005'000));
}

TEST_CASE("what was stored is there after a restart") {
  Fixture f;
  f.database().write([](db::Tx& tx) { put(tx, "a", "1"); });
  f.opened.reset();
  CHECK(seen_from_outside(f.file) == Rows{{"a", "1"}});
  f.opened.emplace(f.file, f.clock, db::sqlite::Options{.readers = 1, .vfs = {}});
  CHECK(f.database().read(all) == Rows{{"a", "1"}});
  f.database().write([](db::Tx& tx) { put(tx, "b", "2"); });
  CHECK(seen_from_outside(f.file) == Rows{{"a", "1"}, {"b", "2"}});
}

TEST_CASE("a file that isn't a database isn't opened, and stays as it is") {
  TempDir dir;
  const Clock clock;
  const std::string text(5'000, 'x');
  std::ofstream(dir / "berth.db") << text;
  CHECK_THROWS_AS(db::sqlite::Database(dir / "berth.db", clock), std::runtime_error);
  std::ifstream in(dir / "berth.db");
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == text);
}

TEST_CASE("a missing directory is an error") {
  const Clock clock;
  TempDir dir;
  CHECK_THROWS_AS(db::sqlite::Database(dir / "no" / "berth.db", clock), std::runtime_error);
}

TEST_CASE("values are read as they were bound, whatever the order of the placeholders") {
  Fixture f;
  const std::string bytes("nul\0\xff", 5);
  f.database().read([&](db::Tx& tx) {
    auto row = tx.query(
        "SELECT $2 AS a, $1 AS b, $3 AS c, $4 AS d, $5 AS e, $6 AS f, $1 AS g, $7 AS h, $8 AS i, "
        "$9 AS j, $11 AS k, $10 AS l",
        INT64_MIN, bytes, true, from_millis(7), std::optional<std::string>(), std::optional<int>(3),
        7, 8, 9, "ten", 11);
    REQUIRE(row.next());
    CHECK(row.text("a") == bytes);
    CHECK(row.integer("b") == INT64_MIN);
    CHECK(row.flag("c"));
    CHECK(row.instant("d") == from_millis(7));
    CHECK(row.null("e"));
    CHECK(row.text_or_null("e") == std::nullopt);
    CHECK(row.instant_or_null("e") == std::nullopt);
    CHECK(row.integer_or_null("f") == 3);
    CHECK(row.integer("g") == INT64_MIN);
    CHECK(row.integer("j") == 9);
    CHECK(row.integer("k") == 11);
    CHECK(row.text("l") == "ten");
    CHECK_FALSE(row.next());
  });
}

TEST_CASE("columns are read by their names, in any order, and an unknown name is an error") {
  Fixture f;
  f.database().read([](db::Tx& tx) {
    auto row = tx.query("SELECT 1 AS a, 'two' AS b, NULL AS c, $1 AS d", 4);
    REQUIRE(row.next());
    CHECK(row.text("b") == "two");
    CHECK(row.integer("a") == 1);
    CHECK(row.integer("a") == 1);
    CHECK(row.integer("d") == 4);
    CHECK(row.null("c"));
    CHECK_FALSE(row.text_or_null("c"));
    CHECK(row.integer_or_null("d") == 4);
    CHECK_THROWS_WITH(row.text("e"), Catch::Contains("no column e: SELECT 1 AS a"));
  });
}

TEST_CASE("a value without its placeholder is an error, and the statement works again afterwards") {
  Fixture f;
  f.database().read([](db::Tx& tx) {
    const char* sql = "SELECT $1";
    CHECK_THROWS(tx.number(sql, 1, 2));
    CHECK(tx.number(sql, 5) == 5);
  });
}

TEST_CASE("one statement can run twice at the same time") {
  Fixture f;
  f.database().write([](db::Tx& tx) {
    for (const char* key : {"a", "b", "c"}) put(tx, key);
    const char* sql = "SELECT key FROM meta ORDER BY key";
    auto outer = tx.query(sql);
    int pairs = 0;
    while (outer.next()) {
      auto inner = tx.query(sql);
      while (inner.next()) ++pairs;
    }
    CHECK(pairs == 9);
  });
}

TEST_CASE("rows with dangling references are refused") {
  Fixture f;
  CHECK_THROWS_AS(f.database().write([](db::Tx& tx) {
    tx.execute(
        "INSERT INTO sessions (id, user_id, address, user_agent, created_at, expires_at) "
        "VALUES ('s', 'nobody', '', '', 0, 0)");
  }),
                  db::ConstraintViolated);
}

}  // namespace
