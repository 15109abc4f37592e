#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/gate/rate_limit.h"

namespace berth::api {

// Holds off those who guess passwords and codes, without letting them lock an owner out: what is
// counted are failures, in sliding windows, for the account from this network (guessing), for the
// network over all accounts (spraying), and for the account over all networks (a botnet); the last
// one doesn't hold off networks that the account was logged in from before. Nothing is locked: each
// window empties by itself, and attempts while it is full aren't counted. In memory: a restart
// forgets it, and a flood of failures writes nothing. Thread-safe.
class LoginThrottle {
 public:
  using Time = RateLimiter::Time;

  static constexpr Rate account_from_network{10, std::chrono::minutes(15)};
  static constexpr Rate network{100, std::chrono::minutes(15)};
  static constexpr Rate account_from_strangers{100, std::chrono::hours(1)};
  // The second factor is guessed by somebody who has the password. Three of a million codes are
  // right at any time, so that a year of guessing finds one with a chance of two in five.
  static constexpr Rate code_from_strangers{20, std::chrono::hours(1)};

  // Keys of each table; each takes some 150 bytes, and 8 more for each failure.
  static constexpr size_t max_networks = 65'536;
  static constexpr size_t max_accounts = 131'072;
  static constexpr size_t max_pairs = 131'072;
  static constexpr size_t max_accounts_by_code = 16'384;

  enum class Secret { password, code };
  struct Attempt {
    // Whether or not there is such a one; not longer than one can be.
    std::string account;
    std::string network;  // accounts::network_of
    bool known_network = false;
  };

  // Counts the attempt as a failure before it is decided, so that many at once don't slip through.
  // Where it may not be made: how long to wait; nothing is counted, and no key is made.
  std::optional<std::chrono::seconds> begin(const Attempt& attempt, Secret secret, Time now);
  // It didn't fail: it isn't counted.
  void undo(const Attempt& attempt, Secret secret);
  // It led to a session: the account's failures from this network are forgotten, too.
  void succeeded(const Attempt& attempt, Secret secret);

  // How many keys are remembered, in all tables.
  size_t size();

 private:
  struct Counter {
    RateLimiter& failures;
    std::string key;
    Rate rate;
  };
  std::vector<Counter> counters(const Attempt& attempt, Secret secret);

  std::mutex begin_mutex_;  // all counters are looked at, and then counted, in one step
  RateLimiter pairs_{max_pairs};
  RateLimiter networks_{max_networks};
  RateLimiter accounts_{max_accounts};
  RateLimiter accounts_by_code_{max_accounts_by_code};
};

}  // namespace berth::api
