#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/gate/rate_limit.h"
#include "controller/domain/accounts/internal_secrets.h"

namespace berth::api {

// The secrets of the configuration that open everything below /api/internal/: `internal-secret`,
// and those of `internal-secrets`, which have names. Thread-safe.
//
// A right secret always works, so that nobody can lock an admin out by guessing. A secret that
// production accepts has at least 128 bits, so it can't be guessed. Wrong ones are counted for
// their network and for all networks, so that guessing is answered with 429 and appears in the log.
class InternalSecret {
 public:
  static constexpr Rate wrong_of_network{100, std::chrono::minutes(15)};
  static constexpr Rate wrong_of_all{1'000, std::chrono::minutes(15)};
  static constexpr size_t max_networks = 8'192;  // the number of networks that are remembered

  // An empty secret opens nothing. Wrong secrets are counted only if `limited` is true.
  InternalSecret(const std::string& secret, bool limited,
                 const std::vector<internal_secrets::Configured>& named = {});

  // Returns the name of the secret that was shown, which is empty for `internal-secret`; nothing if
  // it is none of these. `shown` is the value of x-internal-secret, or empty if it wasn't sent.
  std::optional<std::string> name_of(std::string_view shown) const;
  // Refuses a secret that is wrong. Throws forbidden; or rate_limited, with the time to wait, if
  // too many were wrong before.
  [[noreturn]] void refuse(std::string_view shown, const std::string& network,
                           RateLimiter::Time now);

 private:
  struct Hashed {
    std::string name;
    std::string hash;  // SHA-256
  };
  std::vector<Hashed> secrets_;  // constant after the constructor
  const bool limited_;
  RateLimiter by_network_{Pool::wrong_secrets_of_networks, max_networks};
  RateLimiter overall_{Pool::wrong_secrets_of_networks, 1};
};

}  // namespace berth::api
