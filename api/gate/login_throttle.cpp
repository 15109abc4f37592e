#include "api/gate/login_throttle.h"

namespace berth::api {
namespace {

std::string pair_key(const LoginThrottle::Attempt& attempt) {
  return attempt.account + " from " + attempt.network;
}

}  // namespace

std::vector<LoginThrottle::Counter> LoginThrottle::counters(const Attempt& attempt, Secret secret) {
  std::vector<Counter> result = {{pairs_, pair_key(attempt), account_from_network},
                                 {networks_, attempt.network, network}};
  if (attempt.known_network) return result;
  if (secret == Secret::code)
    result.push_back({accounts_by_code_, attempt.account, code_from_strangers});
  else
    result.push_back({accounts_, attempt.account, account_from_strangers});
  return result;
}

std::optional<std::chrono::seconds> LoginThrottle::begin(const Attempt& attempt, Secret secret,
                                                         Time now) {
  const std::vector<Counter> all = counters(attempt, secret);
  const std::lock_guard lock(begin_mutex_);
  for (const Counter& counter : all) {
    const auto verdict = counter.failures.look(counter.key, counter.rate, now);
    if (!verdict.allowed) return verdict.reset;
  }
  for (const Counter& counter : all) counter.failures.take(counter.key, counter.rate, now);
  return std::nullopt;
}

void LoginThrottle::undo(const Attempt& attempt, Secret secret) {
  for (const Counter& counter : counters(attempt, secret)) counter.failures.give_back(counter.key);
}

void LoginThrottle::succeeded(const Attempt& attempt, Secret secret) {
  undo(attempt, secret);
  pairs_.forget(pair_key(attempt));
}

size_t LoginThrottle::size() {
  return pairs_.size() + networks_.size() + accounts_.size() + accounts_by_code_.size();
}

}  // namespace berth::api
