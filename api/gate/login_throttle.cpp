#include "api/gate/login_throttle.h"

#include <vector>

namespace berth::api {
namespace {

struct Counter {
  std::string key;
  Rate rate;
};

std::string pair_key(const LoginThrottle::Attempt& attempt) {
  return "account " + attempt.account + " from " + attempt.network;
}

std::vector<Counter> counters(const LoginThrottle::Attempt& attempt, LoginThrottle::Secret secret) {
  std::vector<Counter> result = {{pair_key(attempt), LoginThrottle::account_from_network},
                                 {"network " + attempt.network, LoginThrottle::network}};
  if (attempt.known_network) return result;
  if (secret == LoginThrottle::Secret::code)
    result.push_back({"code of " + attempt.account, LoginThrottle::code_from_strangers});
  else
    result.push_back({"account " + attempt.account, LoginThrottle::account_from_strangers});
  return result;
}

}  // namespace

std::optional<std::chrono::seconds> LoginThrottle::begin(const Attempt& attempt, Secret secret,
                                                         Time now) {
  std::vector<std::string> taken;
  for (const auto& [key, rate] : counters(attempt, secret)) {
    const RateLimiter::Verdict verdict = failures_.take(key, rate, now);
    if (!verdict.allowed) {
      for (const std::string& other : taken) failures_.give_back(other);
      return verdict.reset;
    }
    taken.push_back(key);
  }
  return std::nullopt;
}

void LoginThrottle::undo(const Attempt& attempt, Secret secret) {
  for (const auto& [key, rate] : counters(attempt, secret)) failures_.give_back(key);
}

void LoginThrottle::succeeded(const Attempt& attempt, Secret secret) {
  undo(attempt, secret);
  failures_.forget(pair_key(attempt));
}

}  // namespace berth::api
