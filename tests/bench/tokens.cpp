// How many rows the tables of tokens have during and after a year in which 1,000 users log in and
// refresh their tokens a million times, as a table: bench_tokens FOLDER [USERS [CALLS]]. The clock
// is moved, and what has expired is removed once an hour of it. One call in ten is a login: a
// session, a code and its exchange. The others refresh the newest token of a user. Each login
// leaves the tokens of the one before as they are, like an app that was installed anew.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "controller/base/crypto.h"
#include "controller/db/sqlite/database.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/lifecycle/expiry.h"
#include "controller/domain/oauth/oauth.h"
#include "tests/bench/people.h"

using namespace berth;
namespace fs = std::filesystem;
using Steady = std::chrono::steady_clock;

namespace {

constexpr int usual_users = 1'000;
constexpr int usual_calls = 1'000'000;
constexpr int calls_of_login = 10;  // one login among so many calls
// How many calls share a transaction, so that the disk's syncs don't take most of the time: so few
// for each of the users that hardly anybody calls twice at the same time.
constexpr int most_calls_of_transaction = 50;
constexpr int users_for_each_call = 20;
constexpr int reports = 4;
constexpr int checks = 10'000;   // of access tokens, for each report
constexpr double most_rows = 3;  // the goal: rows of tokens for each living grant
constexpr Duration simulated = std::chrono::days(365);
constexpr Duration expiry_interval = std::chrono::hours(1);
const std::string redirect_uri = "https://game.example.org/callback";
const std::string verifier(43, 'v');

struct User {
  accounts::User account;
  oauth::Tokens tokens = {};  // the newest
};

// How long calls took on average, in microseconds, without their commit.
class Time {
 public:
  template <typename Work>
  auto of(Work&& work) {
    const auto begin = Steady::now();
    auto result = work();
    total_ += Steady::now() - begin;
    ++count_;
    return result;
  }
  double average() const {
    return std::chrono::duration<double, std::micro>(total_).count() / std::max(1, count_);
  }

 private:
  Steady::duration total_{};
  int count_ = 0;
};

class Simulation {
 public:
  Simulation(const fs::path& file, int users)
      : file_(file),
        clock_(Clock::standing_at(parse_iso8601("2026-01-01T00:00:00Z").value())),
        database_(file, clock_) {
    database_.write([&](db::Tx& tx) {
      ledger::open_account(tx, ledger::treasury());
      ledger::open_account(tx, ledger::issuance());
    });
    const accounts::User owner = new_user("operator");
    app_ = database_.write([&](db::Tx& tx) { return bench::new_app(tx, owner, redirect_uri); });
    for (int i = 0; i < users; ++i)
      users_.push_back({.account = new_user("player" + std::to_string(i))});
  }

  void run(int calls) {
    const int together =
        std::clamp(int(users_.size()) / users_for_each_call, 1, most_calls_of_transaction);
    const Duration step = simulated * together / calls;
    print_head();
    for (int done = 0; done < calls;) {
      const int some = std::min(together, calls - done);
      database_.write([&](db::Tx& tx) {
        for (int i = 0; i < some; ++i) call(tx, users_[random_() % users_.size()]);
      });
      done += some;
      clock_.advance(step);
      if (clock_.now() >= next_expiry_) expire();
      if (done / std::max(1, calls / reports) != (done - some) / std::max(1, calls / reports))
        report(done);
    }
  }

 private:
  accounts::User new_user(const std::string& name) {
    return database_.write([&](db::Tx& tx) { return bench::new_user(tx, keys_, name); });
  }

  void call(db::Tx& tx, User& user) {
    if (!user.tokens.refresh_token.empty() && random_() % calls_of_login != 0) {
      auto answer = refreshes_.of(
          [&] { return oauth::refresh(tx, app_, user.tokens.refresh_token, policy_); });
      if (answer) {
        user.tokens = *std::move(answer);
        return;
      }
    }
    user.tokens = logins_.of([&] { return log_in(tx, user.account); });
  }

  oauth::Tokens log_in(db::Tx& tx, const accounts::User& user) {
    const auto session = accounts::open_session(tx, user.id, "127.0.0.1", "bench", session_time);
    const auto code = oauth::authorize(tx, user,
                                       {.client_id = app_.client_id,
                                        .redirect_uri = redirect_uri,
                                        .response_type = "code",
                                        .scope = "profile:read",
                                        .code_challenge = base64url(sha256(verifier)),
                                        .code_challenge_method = "S256"},
                                       {}, session.id);
    return oauth::exchange_code(tx, app_, code.value().code, redirect_uri, verifier, policy_)
        .value();
  }

  void expire() {
    constexpr int batch = 1'000;
    while (database_.write([](db::Tx& tx) { return expiry::remove_some(tx, batch); }) > 0) {
    }
    next_expiry_ = clock_.now() + expiry_interval;
  }

  void print_head() const {
    std::cout
        << "| calls | day | living grants | access tokens | refresh tokens | session tokens | "
           "rows for each grant | goal | families, codes and sessions | database MiB | "
           "µs a login | µs a refresh | µs a check |\n|";
    for (int column = 0; column < 13; ++column) std::cout << " --- |";
    std::cout << "\n";
  }

  void report(int done) {
    expire();
    const auto rows = [&](const std::string& of) {
      return database_.read([&](db::Tx& tx) { return tx.number("SELECT count(*) FROM " + of); });
    };
    const std::string now = std::to_string(to_millis(clock_.now()));
    // Each grant of tokens that a client can still refresh has one refresh token that it can use.
    const auto living = rows(
        "refresh_tokens t JOIN token_families f ON f.id = t.family_id "
        "WHERE t.consumed_at IS NULL AND f.revoked_at IS NULL AND t.expires_at > " +
        now + " AND f.expires_at > " + now);
    const auto access = rows("access_tokens"), refresh = rows("refresh_tokens"),
               session = rows("play_sessions");
    const auto others = rows("token_families") + rows("authorization_codes") + rows("sessions");
    const double each = double(access + refresh + session) / double(std::max<int64_t>(1, living));
    std::cout << std::fixed << std::setprecision(1) << "| " << done << " | "
              << clock_.ahead() / std::chrono::days(1) << " | " << living << " | " << access
              << " | " << refresh << " | " << session << " | " << each << " | ≤ " << most_rows
              << ": " << (each <= most_rows ? "met" : "missed") << " | " << others << " | "
              << double(fs::file_size(file_)) / (1 << 20) << " | " << logins_.average() << " | "
              << refreshes_.average() << " | " << check_time() << " |\n"
              << std::flush;
  }

  double check_time() {
    Time time;
    for (int i = 0; i < checks; ++i) {
      const User& user = users_[random_() % users_.size()];
      // The token may have expired, which costs the same.
      time.of([&] {
        return database_.read_committed(
            [&](db::Tx& tx) { return oauth::introspect(tx, user.tokens.access_token); });
      });
    }
    return time.average();
  }

  static constexpr Duration session_time = std::chrono::hours(24);
  const fs::path file_;
  Clock clock_;
  db::sqlite::Database database_;
  Keys keys_ = {.data = std::string(32, 'd'),
                .session = {{.id = "1", .secret = std::string(32, 's')}}};
  oauth::Policy policy_;
  apps::App app_;
  std::vector<User> users_;
  std::mt19937_64 random_{42};
  Instant next_expiry_ = clock_.now() + expiry_interval;
  Time logins_, refreshes_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: bench_tokens FOLDER [USERS [CALLS]]\n";
    return 2;
  }
  const fs::path folder = fs::path(argv[1]) / "tokens-bench";
  fs::remove_all(folder);
  fs::create_directories(folder);
  Simulation(folder / "berth.db", argc > 2 ? std::stoi(argv[2]) : usual_users)
      .run(argc > 3 ? std::stoi(argv[3]) : usual_calls);
  fs::remove_all(folder);
}
