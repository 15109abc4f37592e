#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/gate/rate_limit.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/login_failures.h"

namespace berth::api {

// Slows down those who guess passwords and codes, without letting them lock out an account's owner.
// It counts failures in sliding windows: for the account from one network (guessing), for the
// network over all accounts (spraying), and for the account over all networks (a botnet). The last
// count doesn't affect networks from which the account was logged in before. Nothing is locked for
// good: each window empties by itself, and attempts while it is full aren't counted. The counts are
// in memory, so a restart loses them, and a flood of failures writes nothing. Where several berthd
// processes may be on a database, the counts are in a table that all of them share; then, too, an
// attempt that isn't allowed writes nothing. Thread-safe.
class LoginThrottle {
 public:
  using Time = RateLimiter::Time;

  static constexpr Rate account_from_network{10, std::chrono::minutes(15)};
  static constexpr Rate network{100, std::chrono::minutes(15)};
  static constexpr Rate account_from_strangers{100, std::chrono::hours(1)};
  // Only somebody who has the password can guess the second factor. Three of a million codes are
  // right at any time, so guessing for a year succeeds with a probability of two in five.
  static constexpr Rate code_from_strangers{20, std::chrono::hours(1)};

  // Limits of the keys in each table. A key takes about 250 bytes, and 8 more for each failure.
  static constexpr size_t max_networks = 65'536;
  static constexpr size_t max_accounts = 131'072;
  static constexpr size_t max_pairs = 131'072;
  static constexpr size_t max_accounts_by_code = 16'384;

  enum class Secret { password, code };  // what an attempt guesses
  struct Attempt {
    // The address or name that was given, whether or not there is such an account. The caller
    // refuses a text that is too long for one.
    std::string account;
    std::string network;         // as accounts::network_of returns it
    bool known_network = false;  // whether the account was logged in from this network before
  };

  // Counts in memory.
  LoginThrottle() = default;
  // Counts in the database, under hashes that are made with a key of `data_key`. `begin`, `undo`
  // and `succeeded` then throw what reads and writes throw, must not be called in a transaction,
  // and ignore `now`: the time is the database's.
  LoginThrottle(db::Database& shared, const std::string& data_key);

  // Counts the attempt as a failure before its result is known, so that many simultaneous attempts
  // can't exceed the limit. If the attempt isn't allowed, returns how long to wait; then nothing is
  // counted and no key is created.
  std::optional<std::chrono::seconds> begin(const Attempt& attempt, Secret secret, Time now);
  // Takes back the count, for an attempt that didn't fail.
  void undo(const Attempt& attempt, Secret secret);
  // Takes back the count, for an attempt that led to a session; the account's earlier failures from
  // this network are forgotten, too.
  void succeeded(const Attempt& attempt, Secret secret);

  // Returns how many keys are stored in memory.
  size_t size();

 private:
  struct Counter {
    RateLimiter& failures;
    std::string key;
    Rate rate;
  };
  std::vector<Counter> counters(const Attempt& attempt, Secret secret);
  std::vector<accounts::login_failures::Counter> shared_counters(const Attempt& attempt,
                                                                 Secret secret);
  std::string hash(const RateLimiter& of, const std::string& key) const;
  std::optional<std::chrono::seconds> begin_shared(const Attempt& attempt, Secret secret);

  db::Database* const shared_ = nullptr;  // null: counts in memory
  const std::string hash_key_;            // hashes accounts and addresses for the shared table
  std::mutex begin_mutex_;                // makes checking and raising all counters one step
  RateLimiter pairs_{Pool::failed_logins_of_pairs, max_pairs};
  RateLimiter networks_{Pool::failed_logins_of_networks, max_networks};
  RateLimiter accounts_{Pool::failed_logins_of_accounts, max_accounts};
  RateLimiter accounts_by_code_{Pool::failed_codes_of_accounts, max_accounts_by_code};
};

}  // namespace berth::api
