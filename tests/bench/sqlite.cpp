// SQLite alone: writes the rows of POST /api/internal/points/mint with berthd's own SQL, with the
// same number of writes in a commit and the same durability (WAL, synchronous=FULL).
//
// usage: bench_sqlite DATABASE GROUP SECONDS
// DATABASE is a copy of berthd's. Prints writes per second.
#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using SteadyClock = std::chrono::steady_clock;

class Database {
 public:
  explicit Database(const char* file) {
    if (sqlite3_open_v2(file, &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) !=
        SQLITE_OK)
      throw std::runtime_error(sqlite3_errmsg(handle_));
    for (const char* setting : {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
                                "PRAGMA foreign_keys = ON", "PRAGMA trusted_schema = OFF"})
      if (sqlite3_exec(handle_, setting, nullptr, nullptr, nullptr) != SQLITE_OK)
        throw std::runtime_error(sqlite3_errmsg(handle_));
  }
  ~Database() { sqlite3_close_v2(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  operator sqlite3*() { return handle_; }

 private:
  sqlite3* handle_ = nullptr;
};

// A prepared statement. Values are bound to $1, $2, … in their order.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) : database_(database) {
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) !=
        SQLITE_OK)
      fail();
    for (int i = 1; i <= sqlite3_bind_parameter_count(statement_); ++i)
      places_.push_back(
          sqlite3_bind_parameter_index(statement_, ("$" + std::to_string(i)).c_str()));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  template <typename... Values>
  void run(const Values&... values) {
    size_t next = 0;
    (bind(places_.at(next++), values), ...);
    int code = SQLITE_ROW;
    while (code == SQLITE_ROW) code = sqlite3_step(statement_);
    if (code != SQLITE_DONE) fail();
    sqlite3_reset(statement_);
  }

 private:
  void bind(int place, const std::string& text) {
    sqlite3_bind_text(statement_, place, text.data(), int(text.size()), SQLITE_STATIC);
  }
  void bind(int place, std::int64_t value) { sqlite3_bind_int64(statement_, place, value); }
  [[noreturn]] void fail() const { throw std::runtime_error(sqlite3_errmsg(database_)); }

  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  std::vector<int> places_;
};

std::int64_t now_ms() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now())
      .time_since_epoch()
      .count();
}

class Writer {
 public:
  explicit Writer(Database& database) : db_(database) {}

  void write_group(int size) {
    now_ = now_ms();
    begin_.run();
    for (int i = 0; i < size; ++i) mint();
    commit_.run();
  }

 private:
  // Runs the statements of controller/domain/ledger/ledger.cpp and audit.cpp in their order.
  void mint() {
    static constexpr std::int64_t most = (std::int64_t(1) << 53) - 1;
    static constexpr std::int64_t amount = 1;
    static const std::string issuance = "issuance", treasury = "treasury", nobody,
                             memo = "benchmark", actor = "internal", action = "points.mint",
                             details = R"({"amount":1,"reason":"benchmark"})";
    savepoint_.run();
    open_.run(issuance, issuance, nobody);
    open_.run(treasury, treasury, nobody);
    take_.run(issuance, amount, most);
    give_.run(treasury, amount, most);
    const std::int64_t kind = 1;
    number_ = std::max(number_ + 1, now_ << 20);
    transaction_.run(number_, std::int64_t(random_()), std::int64_t(random_()), kind, memo);
    posting_.run(issuance, std::int64_t(0), number_, kind, -amount);
    posting_.run(treasury, std::int64_t(1), number_, kind, amount);
    audit_.run(new_id(), actor, action, treasury, details, now_);
    balance_.run(treasury);
    release_.run();
  }

  // Returns ids that are ordered by milliseconds and random within one, like UUIDv7.
  std::string new_id() {
    char text[37];
    const std::uint64_t random = random_();
    std::snprintf(text, sizeof(text), "%08llx-%04llx-7%03llx-8%03llx-%012llx",
                  static_cast<unsigned long long>(now_ >> 16),
                  static_cast<unsigned long long>(now_ & 0xffff),
                  static_cast<unsigned long long>(random & 0xfff),
                  static_cast<unsigned long long>((random >> 12) & 0xfff),
                  static_cast<unsigned long long>(random_() & 0xffffffffffff));
    return text;
  }

  sqlite3* db_;
  Statement begin_{db_, "BEGIN IMMEDIATE"};
  Statement commit_{db_, "COMMIT"};
  Statement savepoint_{db_, "SAVEPOINT job"};
  Statement release_{db_, "RELEASE job"};
  Statement open_{db_,
                  "INSERT INTO ledger_accounts (id, kind, owner, number) VALUES ($1, $2, $3, "
                  "coalesce((SELECT max(number) FROM ledger_accounts), 0) + 1) "
                  "ON CONFLICT (id) DO NOTHING"};
  Statement take_{db_,
                  "UPDATE ledger_accounts SET balance = balance - $2 WHERE id = $1 AND "
                  "(balance >= $2 OR (kind = 'issuance' AND balance - $2 >= -$3))"};
  Statement give_{db_,
                  "UPDATE ledger_accounts SET balance = balance + $2 "
                  "WHERE id = $1 AND balance <= $3 - $2"};
  Statement transaction_{db_,
                         "INSERT INTO ledger_transactions (number, id_high, id_low, kind, memo) "
                         "VALUES ($1, $2, $3, $4, $5)"};
  Statement posting_{db_,
                     "INSERT INTO ledger_postings "
                     "(account_number, incoming, transaction_number, leg, kind, amount) "
                     "SELECT number, $2, $3, $2, $4, $5 FROM ledger_accounts WHERE id = $1"};
  Statement audit_{db_,
                   "INSERT INTO audit_log (id, actor, action, target, details, at) "
                   "VALUES ($1, $2, $3, $4, $5, $6)"};
  Statement balance_{db_, "SELECT balance FROM ledger_accounts WHERE id = $1"};

  std::mt19937_64 random_{std::random_device{}()};
  std::int64_t now_ = 0;
  std::int64_t number_ = 0;  // of the newest transaction
};

double writes_a_second(const char* file, int group, double seconds) {
  Database database(file);
  Writer writer(database);
  std::int64_t written = 0;
  const auto start = SteadyClock::now();
  std::chrono::duration<double> passed{0};
  while (passed.count() < seconds) {
    writer.write_group(group);
    written += group;
    passed = SteadyClock::now() - start;
  }
  return double(written) / passed.count();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) return std::fputs("usage: bench_sqlite DATABASE GROUP SECONDS\n", stderr), 2;
  std::printf("%.0f\n", writes_a_second(argv[1], std::atoi(argv[2]), std::atof(argv[3])));
} catch (const std::exception& failure) {
  std::fprintf(stderr, "bench_sqlite: %s\n", failure.what());
  return 1;
}
