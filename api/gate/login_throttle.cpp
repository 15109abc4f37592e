#include "api/gate/login_throttle.h"

#include "controller/base/crypto.h"

namespace berth::api {
namespace {

namespace login_failures = accounts::login_failures;

constexpr size_t hash_bytes = 16;

std::string pair_key(const LoginThrottle::Attempt& attempt) {
  return attempt.account + " from " + attempt.network;
}

}  // namespace

LoginThrottle::LoginThrottle(db::Database& shared, const std::string& data_key)
    : shared_(&shared), hash_key_(hmac_sha256(data_key, "failed logins")) {}

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

std::string LoginThrottle::hash(const RateLimiter& of, const std::string& key) const {
  const char* const kind = &of == &pairs_      ? "pair "
                           : &of == &networks_ ? "network "
                           : &of == &accounts_ ? "account "
                                               : "account by code ";
  return hex(hmac_sha256(hash_key_, kind + key).substr(0, hash_bytes));
}

std::vector<login_failures::Counter> LoginThrottle::shared_counters(const Attempt& attempt,
                                                                    Secret secret) {
  std::vector<login_failures::Counter> result;
  for (const Counter& counter : counters(attempt, secret))
    result.push_back({.key_hash = hash(counter.failures, counter.key),
                      .limit = counter.rate.limit,
                      .window = counter.rate.window});
  return result;
}

// Looks in a snapshot first, so that a flood of attempts that aren't allowed writes nothing.
std::optional<std::chrono::seconds> LoginThrottle::begin_shared(const Attempt& attempt,
                                                                Secret secret) {
  const auto all = shared_counters(attempt, secret);
  auto wait = shared_->read([&](db::Tx& tx) { return login_failures::wait(tx, all); });
  if (!wait)
    wait = shared_->write([&](db::Tx& tx) {
      const auto full = login_failures::wait(tx, all);
      if (!full) login_failures::count(tx, all);
      return full;
    });
  if (!wait) return std::nullopt;
  return std::chrono::ceil<std::chrono::seconds>(*wait);
}

std::optional<std::chrono::seconds> LoginThrottle::begin(const Attempt& attempt, Secret secret,
                                                         Time now) {
  if (shared_ != nullptr) return begin_shared(attempt, secret);
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
  if (shared_ != nullptr)
    return shared_->write([all = shared_counters(attempt, secret)](db::Tx& tx) {
      login_failures::take_back(tx, all);
    });
  for (const Counter& counter : counters(attempt, secret)) counter.failures.give_back(counter.key);
}

void LoginThrottle::succeeded(const Attempt& attempt, Secret secret) {
  if (shared_ != nullptr)
    return shared_->write([all = shared_counters(attempt, secret),
                           pair = hash(pairs_, pair_key(attempt))](db::Tx& tx) {
      login_failures::take_back(tx, all);
      login_failures::forget(tx, pair);
    });
  undo(attempt, secret);
  pairs_.forget(pair_key(attempt));
}

size_t LoginThrottle::size() {
  return pairs_.size() + networks_.size() + accounts_.size() + accounts_by_code_.size();
}

}  // namespace berth::api
