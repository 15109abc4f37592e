// Spends points without HTTP: with berthd's own domain code and Database on many threads, and with
// bare SQLite writing the same rows.
//
// usage: bench_points domain DATABASE THREADS SECONDS   prints spends per second, writes per commit
//        bench_points bare DATABASE GROUP SECONDS       writes the same rows, GROUP in each commit
//        bench_points fill DATABASE POSTINGS            fills the database up to this many postings
//        bench_points postgres APPS THREADS SECONDS     spends on PostgreSQL, by 2,000 users
// DATABASE is berthd's or a copy of it, with a user, an app and a grant. Each spend stores an
// answer for an idempotency key, as berthd does for a request with a key. `postgres` uses
// the database `ready`, which is empty, on the server that tests/postgres/run starts, without fsync
// unless BERTH_TEST_FSYNC is set. It prints spends per second, how many runs of a
// hundred were repeated because they collided, and how many spends of a thousand were given up.
#include "controller/domain/points/points.h"

#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/postgres/database.h"
#include "controller/db/sqlite/database.h"
#include "controller/domain/kernel/idempotency_keys.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/ledger/pending.h"

namespace berth {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Who {
  std::string user, app, grant;
};

Who who(db::Tx& tx) {
  auto rows = tx.query(R"(
      SELECT user_id, app_id, id
      FROM grants
      WHERE scopes <> ''
      LIMIT 1)");
  if (!rows.next()) throw std::runtime_error("nobody has connected an app");
  return {.user = rows.text("user_id"), .app = rows.text("app_id"), .grant = rows.text("id")};
}

idempotency_keys::Slot slot_of(const Who& who, const std::string& key) {
  return {.principal = idempotency_keys::app_principal(who.app, who.user),
          .method = "POST",
          .path = "/api/external/points/spend",
          .key = key,
          .request_hash = std::string(64, 'a')};
}

void keep_answer(db::Tx& tx, const idempotency_keys::Slot& slot) {
  idempotency_keys::keep(tx, slot, 200, R"({"amount_spent":1,"points":1,"success":true})");
}

void spend(db::Tx& tx, const Who& who) {
  points::spend(tx,
                {.grant_id = who.grant,
                 .user_id = who.user,
                 .app_id = who.app,
                 .amount = 1,
                 .description = "benchmark"},
                {});
}

int domain(const char* file, int threads, double seconds) {
  const Clock clock;
  db::sqlite::Database database(file, clock);
  const Who somebody = database.read(who);
  const auto commits = database.commits(), writes = database.writes();
  std::atomic<std::int64_t> spent = 0;
  const auto start = SteadyClock::now();
  const auto end = start + std::chrono::duration<double>(seconds);
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i)
      running.emplace_back([&] {
        while (SteadyClock::now() < end) {
          database.write([&](db::Tx& tx) {
            spend(tx, somebody);
            keep_answer(tx, slot_of(somebody, new_uuid(tx.now())));
          });
          ++spent;
        }
      });
  }
  const std::chrono::duration<double> passed = SteadyClock::now() - start;
  std::printf("%.0f %.1f\n", double(spent) / passed.count(),
              double(database.writes() - writes) / double(database.commits() - commits));
  return 0;
}

constexpr int users_on_postgres = 2'000;

// A user who has connected one of the apps, and has points.
Who connected_user(db::Tx& tx, int number, int apps) {
  const std::string n = std::to_string(number), app = "app" + std::to_string(number % apps);
  tx.execute(R"(
      INSERT INTO users (id, email, email_key, username, username_key, password_hash, referral_code,
                         registration_number, signup_multiplier, created_at, updated_at)
      VALUES ($1, $1, $1, $1, $1, '', $1, $2, 1, 5, 5))",
             "user" + n, number);
  if (number < apps)
    tx.execute(R"(
        INSERT INTO apps (id, owner_id, app_name, client_id, client_secret_hash, redirect_uris,
                          allowed_scopes, approved_scopes, inserted_at, updated_at)
        VALUES ($1, 'user0', $1, $1, '', '[]', '', '', 5, 5))",
               app);
  tx.execute(R"(
      INSERT INTO grants (id, app_id, user_id, scopes, connected_at)
      VALUES ($1, $2, $3, 'points:spend', 5))",
             "grant" + n, app, "user" + n);
  ledger::open_account(tx, ledger::app_account(app));
  ledger::mint(tx, ledger::user_account("user" + n), 1'000'000, "benchmark");
  return {.user = "user" + n, .app = app, .grant = "grant" + n};
}

// As the gate does for a request with a key.
void spend_once(db::Tx& tx, const Who& who, const std::string& key) {
  const idempotency_keys::Slot slot = slot_of(who, key);
  if (idempotency_keys::find_or_reserve(tx, slot)) return;
  tx.nested([&] { spend(tx, who); });
  keep_answer(tx, slot);
}

int on_postgres(int apps, int threads, double seconds) {
  const Clock clock;
  const char* server = std::getenv("BERTH_TEST_POSTGRES");
  if (server == nullptr) throw std::runtime_error("BERTH_TEST_POSTGRES isn't set");
  db::postgres::Database database(
      {.address = server + std::string(" dbname=ready"), .password_file = {}}, clock);
  std::vector<Who> all;
  for (int done = 0; done < users_on_postgres; done += 100)
    database.write([&](db::Tx& tx) {
      all.resize(size_t(done));
      for (int i = done; i < done + 100; ++i) all.push_back(connected_user(tx, i, apps));
    });
  const auto collisions = database.collisions();
  std::atomic<std::int64_t> spent = 0, given_up = 0;
  const auto start = SteadyClock::now();
  const auto end = start + std::chrono::duration<double>(seconds);
  std::jthread folding([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ledger::fold_in_batches(database);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i)
      running.emplace_back([&, i] {
        std::mt19937 random(static_cast<unsigned>(i));
        while (SteadyClock::now() < end) {
          const Who& who = all[random() % all.size()];
          const std::string key = new_uuid(clock.now());
          try {
            database.write([&](db::Tx& tx) { spend_once(tx, who, key); });
            ++spent;
          } catch (const Error&) {
            ++given_up;
          }
        }
      });
  }
  const std::chrono::duration<double> passed = SteadyClock::now() - start;
  const auto repeated = double(database.collisions() - collisions);
  std::printf("%.0f %.1f %.1f\n", double(spent) / passed.count(),
              100 * repeated / (double(spent) + repeated),
              1000 * double(given_up) / double(spent + given_up));
  return 0;
}

// Bare SQLite.
class Bare {
 public:
  explicit Bare(const char* file) {
    if (sqlite3_open_v2(file, &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) !=
        SQLITE_OK)
      throw std::runtime_error("the database can't be opened");
    for (const char* setting :
         {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON"})
      run(setting);
  }
  ~Bare() {
    for (sqlite3_stmt* statement : prepared_) sqlite3_finalize(statement);
    sqlite3_close_v2(db_);
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  void run(const char* sql) {
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      throw std::runtime_error(sqlite3_errmsg(db_));
  }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
        SQLITE_OK)
      throw std::runtime_error(sqlite3_errmsg(db_));
    prepared_.push_back(statement);
    return statement;
  }
  void step(sqlite3_stmt* statement, const std::vector<std::string>& texts, std::int64_t number) {
    int place = 0;
    for (const std::string& text : texts)
      sqlite3_bind_text(statement, ++place, text.data(), int(text.size()), SQLITE_TRANSIENT);
    if (sqlite3_bind_parameter_count(statement) > place)
      sqlite3_bind_int64(statement, place + 1, number);
    int code = SQLITE_ROW;
    while (code == SQLITE_ROW) code = sqlite3_step(statement);
    if (code != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(db_));
    sqlite3_reset(statement);
  }

 private:
  sqlite3* db_ = nullptr;
  std::vector<sqlite3_stmt*> prepared_;
};

int bare(const char* file, int group, double seconds) {
  const Clock clock;
  const Who somebody = [&] {
    db::sqlite::Database database(file, clock);
    database.write([](db::Tx& tx) { ledger::KindLookup(tx, "spend").number(); });
    return database.read(who);
  }();
  Bare sqlite(file);
  auto* take = sqlite.prepare(
      "UPDATE ledger_accounts SET balance = balance - 1 WHERE id = ?1 AND balance >= 1");
  auto* give = sqlite.prepare("UPDATE ledger_accounts SET balance = balance + 1 WHERE id = ?1");
  auto* transaction = sqlite.prepare(
      "INSERT INTO ledger_transactions (number, id_high, id_low, kind, memo) "
      "VALUES (?1, ?1, ?1, 1, 'benchmark')");
  auto* out = sqlite.prepare(
      "INSERT INTO ledger_postings "
      "(account_number, incoming, transaction_number, leg, kind, amount) "
      "SELECT number, 0, ?2, 0, 1, -1 FROM ledger_accounts WHERE id = ?1");
  auto* in = sqlite.prepare(
      "INSERT INTO ledger_postings "
      "(account_number, incoming, transaction_number, leg, kind, amount) "
      "SELECT number, 1, ?2, 1, 1, 1 FROM ledger_accounts WHERE id = ?1");
  auto* grant = sqlite.prepare("UPDATE grants SET spent_on_day = spent_on_day + 1 WHERE id = ?1");
  auto* keep = sqlite.prepare(
      "INSERT INTO idempotency_keys (principal, method, path, key, request_hash, status, body, "
      "created_at) VALUES (?1, 'POST', '/api/external/points/spend', ?2, ?3, 200, ?4, ?5)");
  const std::string user = "user:" + somebody.user, app = "app:" + somebody.app, hash(64, 'a'),
                    body = R"({"amount_spent":1,"points":1,"success":true})";
  std::int64_t written = 0, number = 0;
  const auto start = SteadyClock::now();
  std::chrono::duration<double> passed{0};
  while (passed.count() < seconds) {
    const Instant begin = clock.now();
    const std::int64_t now = to_millis(begin);
    number = std::max(number, ledger::first_number(begin));
    sqlite.run("BEGIN IMMEDIATE");
    for (int i = 0; i < group; ++i) {
      ++number;
      sqlite.step(take, {user}, 0);
      sqlite.step(give, {app}, 0);
      sqlite.step(transaction, {}, number);
      sqlite.step(out, {user}, number);
      sqlite.step(in, {app}, number);
      sqlite.step(grant, {somebody.grant}, 0);
      sqlite.step(keep, {app + ":" + user, new_uuid(clock.now()), hash, body}, now);
    }
    sqlite.run("COMMIT");
    written += group;
    passed = SteadyClock::now() - start;
  }
  std::printf("%.0f\n", double(written) / passed.count());
  return 0;
}

// Fills the database as a long time of use would have: with postings of many users, ordered by
// time.
int fill(const char* file, std::int64_t postings) {
  constexpr int users = 10'000;
  constexpr std::int64_t in_a_commit = 50'000;
  const Clock clock;
  db::sqlite::Database database(file, clock);
  std::mt19937_64 random(1);
  std::int64_t kind = 0, issuance = 0, first_user = 0;
  database.write([&](db::Tx& tx) {
    for (int i = 0; i < users; ++i)
      ledger::open_account(tx, ledger::user_account("filled" + std::to_string(i)));
    kind = ledger::KindLookup(tx, "mint").number();
    issuance = ledger::account_number(tx, ledger::issuance());
    first_user = ledger::account_number(tx, ledger::user_account("filled0"));
  });
  std::int64_t there =
      database.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM ledger_postings"); });
  while (there < postings) {
    const std::int64_t some = std::min(in_a_commit, (postings - there + 1) / 2);
    database.write([&](db::Tx& tx) {
      std::int64_t number = ledger::first_number(tx.now());
      for (std::int64_t i = 0; i < some; ++i) {
        ++number;
        tx.execute("INSERT INTO ledger_transactions VALUES ($1, $1, $1, $2, 'filled')", number,
                   kind);
        for (const auto& [account, amount] :
             {std::pair{issuance, -1}, std::pair{first_user + std::int64_t(random() % users), 1}})
          tx.execute(
              "INSERT INTO ledger_postings "
              "(account_number, incoming, transaction_number, leg, kind, amount) "
              "VALUES ($1, $2, $3, $2, $4, $5)",
              account, amount > 0, number, kind, amount);
      }
    });
    there += some * 2;
  }
  database.write([](db::Tx& tx) {
    tx.execute(
        "UPDATE ledger_accounts SET balance = (SELECT coalesce(sum(amount), 0) FROM "
        "ledger_postings p WHERE p.account_number = ledger_accounts.number)");
  });
  return 0;
}

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "domain" && argc == 5) return domain(argv[2], std::atoi(argv[3]), std::atof(argv[4]));
  if (what == "bare" && argc == 5) return bare(argv[2], std::atoi(argv[3]), std::atof(argv[4]));
  if (what == "postgres" && argc == 5)
    return on_postgres(std::atoi(argv[2]), std::atoi(argv[3]), std::atof(argv[4]));
  if (what == "fill" && argc == 4) return fill(argv[2], std::atoll(argv[3]));
  std::fputs(
      "usage: bench_points domain|bare DATABASE THREADS|GROUP SECONDS, fill DATABASE N, or\n"
      "postgres APPS THREADS SECONDS\n",
      stderr);
  return 2;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) try {
  return berth::run(argc, argv);
} catch (const std::exception& failure) {
  std::fprintf(stderr, "bench_points: %s\n", failure.what());
  return 1;
}
