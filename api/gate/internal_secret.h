#pragma once

#include <string>
#include <string_view>

#include "api/gate/rate_limit.h"

namespace berth::api {

// The secret that opens everything below /api/internal/. Thread-safe.
//
// The right secret always works, so that nobody can lock an admin out by guessing. A secret that
// production accepts has at least 128 bits, so it can't be guessed. Wrong ones are counted for
// their network and for all networks, so that guessing is answered with 429 and appears in the log.
class InternalSecret {
 public:
  static constexpr Rate wrong_of_network{100, std::chrono::minutes(15)};
  static constexpr Rate wrong_of_all{1'000, std::chrono::minutes(15)};
  static constexpr size_t max_networks = 8'192;  // the number of networks that are remembered

  // An empty secret opens nothing. Wrong secrets are counted only if `limited` is true.
  InternalSecret(const std::string& secret, bool limited);

  // Checks a secret. `shown` is the value of x-internal-secret, or empty if it wasn't sent. Throws
  // forbidden; or rate_limited, with the time to wait, if this secret is wrong and too many were
  // wrong before.
  void check(std::string_view shown, const std::string& network, RateLimiter::Time now);

 private:
  const std::string hash_;  // empty if there is no secret
  const bool limited_;
  RateLimiter by_network_{Pool::wrong_secrets_of_networks, max_networks};
  RateLimiter overall_{Pool::wrong_secrets_of_networks, 1};
};

}  // namespace berth::api
