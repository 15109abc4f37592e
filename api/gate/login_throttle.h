#pragma once

#include <chrono>
#include <optional>
#include <string>

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

  enum class Secret { password, code };
  struct Attempt {
    std::string account;  // whether or not there is such a one
    std::string network;  // accounts::network_of
    bool known_network = false;
  };

  // Counts the attempt as a failure before it is decided, so that many at once don't slip through.
  // Where it may not be made: how long to wait, and nothing is counted.
  std::optional<std::chrono::seconds> begin(const Attempt& attempt, Secret secret, Time now);
  // It didn't fail: it isn't counted.
  void undo(const Attempt& attempt, Secret secret);
  // It led to a session: the account's failures from this network are forgotten, too.
  void succeeded(const Attempt& attempt, Secret secret);

 private:
  RateLimiter failures_;
};

}  // namespace berth::api
