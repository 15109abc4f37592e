#include "api/gate/rate_limit.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "controller/base/crypto.h"

namespace berth::api {
namespace {

// How many outdated keys each request removes. It is more than one, so that the table shrinks when
// fewer callers come.
constexpr int dropped_at_once = 2;
constexpr size_t secret_bytes = 32;
// If the memory of a log would hold this many times its entries, the unused part is freed.
constexpr size_t slack = 4;

std::chrono::seconds rounded_up(std::chrono::steady_clock::duration time) {
  return std::chrono::ceil<std::chrono::seconds>(time);
}

}  // namespace

RateLimiter::RateLimiter(Pool pool, size_t max_keys)
    : max_keys_of_shard_(std::max<size_t>(1, max_keys / shard_count)),
      shares_(pool, max_keys),
      secret_(random_bytes(secret_bytes)) {}

size_t RateLimiter::HashOfHash::operator()(const Hash& hash) const noexcept {
  size_t value = 0;
  std::memcpy(&value, hash.data(), sizeof value);
  return value;
}

RateLimiter::Hash RateLimiter::hash(std::string_view key) const {
  const std::string whole = hmac_sha256(secret_, key);
  Hash hash{};
  std::memcpy(hash.data(), whole.data(), hash.size());
  return hash;
}

// Returns the verdict on a request at `now`, and removes the times that have left the window.
RateLimiter::Verdict RateLimiter::verdict_on(Log& log, const Rate& rate, Time now) {
  const auto is_in_window = [&](Time time) { return now - time < rate.window; };
  log.times.erase(log.times.begin(), std::ranges::find_if(log.times, is_in_window));
  if (log.times.capacity() > slack * std::max<size_t>(1, log.times.size()))
    log.times.shrink_to_fit();
  const int used = int(log.times.size());
  const bool allowed = used < rate.limit;
  const Time oldest = log.times.empty() ? now : log.times.front();
  return {.allowed = allowed,
          .limit = rate.limit,
          .remaining = allowed ? rate.limit - used - 1 : 0,
          .reset = rounded_up(oldest + rate.window - now)};
}

RateLimiter::Verdict RateLimiter::over_share(const Rate& rate) {
  return {.allowed = false, .limit = rate.limit, .reset = rate.window, .over_share = true};
}

void RateLimiter::drop(Shard& shard, Logs::iterator log) {
  shard.by_age.erase(log->second.place);
  shard.logs.erase(log);
}

void RateLimiter::drop_some_old(Shard& shard, Time now) {
  for (int i = 0; i < dropped_at_once && !shard.by_age.empty(); ++i) {
    const auto oldest = shard.logs.find(*shard.by_age.front());
    if (now - oldest->second.times.back() < oldest->second.window) return;
    drop(shard, oldest);
  }
}

RateLimiter::Verdict RateLimiter::take(std::string_view key, const Rate& rate, Time now) {
  const Hash hashed = hash(key);
  Shard& shard = shard_of(hashed);
  const std::lock_guard lock(shard.mutex);
  drop_some_old(shard, now);
  auto found = shard.logs.find(hashed);
  if (found == shard.logs.end()) {
    Shares::Claim claim(shares_, Claimant::of_thread());
    if (claim.take() == Shares::Taken::over_share) return over_share(rate);
    if (shard.logs.size() >= max_keys_of_shard_ || (!claim.has_place() && !shard.logs.empty()))
      drop(shard, shard.logs.find(*shard.by_age.front()));
    claim.take();  // the place of the key that was dropped
    found = shard.logs.try_emplace(hashed).first;
    found->second.claim = std::move(claim);
    found->second.place = shard.by_age.insert(shard.by_age.end(), &found->first);
  }
  Log& log = found->second;
  const Verdict verdict = verdict_on(log, rate, now);
  if (!verdict.allowed) return verdict;
  log.window = rate.window;
  log.times.push_back(now);
  shard.by_age.splice(shard.by_age.end(), shard.by_age, log.place);
  return verdict;
}

RateLimiter::Verdict RateLimiter::look(std::string_view key, const Rate& rate, Time now) {
  const Hash hashed = hash(key);
  Shard& shard = shard_of(hashed);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.logs.find(hashed);
  if (found != shard.logs.end()) {
    const Verdict verdict = verdict_on(found->second, rate, now);
    if (found->second.times.empty()) drop(shard, found);
    return verdict;
  }
  if (shares_.look(Claimant::of_thread()) == Shares::Taken::over_share) return over_share(rate);
  Log unused;
  return verdict_on(unused, rate, now);
}

void RateLimiter::give_back(std::string_view key) {
  const Hash hashed = hash(key);
  Shard& shard = shard_of(hashed);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.logs.find(hashed);
  if (found == shard.logs.end()) return;
  found->second.times.pop_back();
  if (found->second.times.empty()) drop(shard, found);
}

void RateLimiter::forget(std::string_view key) {
  const Hash hashed = hash(key);
  Shard& shard = shard_of(hashed);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.logs.find(hashed);
  if (found != shard.logs.end()) drop(shard, found);
}

size_t RateLimiter::size() {
  size_t total = 0;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    total += shard.logs.size();
  }
  return total;
}

size_t RateLimiter::bytes() {
  size_t total = 0;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (const auto& [key, log] : shard.logs)
      total += sizeof key + sizeof log + log.times.capacity() * sizeof(Time);
  }
  return total;
}

}  // namespace berth::api
