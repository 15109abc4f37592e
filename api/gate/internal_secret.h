#pragma once

#include <string>
#include <string_view>

#include "api/gate/rate_limit.h"

namespace berth::api {

// The secret that opens everything below /api/internal/. Thread-safe.
//
// The right one always opens, so that nobody who guesses can lock an admin out; what production
// takes for a secret has at least 128 bits, which nobody guesses. Wrong ones are counted for their
// network and for all networks, so that guessing is answered with 429 and stands in the log.
class InternalSecret {
 public:
  static constexpr Rate wrong_of_network{100, std::chrono::minutes(15)};
  static constexpr Rate wrong_of_all{1'000, std::chrono::minutes(15)};
  static constexpr size_t max_networks = 8'192;  // that are remembered

  // An empty secret opens nothing. Without `limited` wrong ones aren't counted.
  InternalSecret(const std::string& secret, bool limited);

  // `shown`: the value of x-internal-secret, empty where it wasn't sent. Throws forbidden;
  // rate_limited with the time to wait, where too many were wrong and this one is, too.
  void check(std::string_view shown, const std::string& network, RateLimiter::Time now);

 private:
  const std::string hash_;  // empty where there is no secret
  const bool limited_;
  RateLimiter by_network_{max_networks};
  RateLimiter overall_{1};
};

}  // namespace berth::api
