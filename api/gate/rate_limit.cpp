#include "api/gate/rate_limit.h"

namespace berth::api {
namespace {

constexpr size_t takes_between_sweeps = 4'096;

std::chrono::seconds rounded_up(std::chrono::steady_clock::duration time) {
  return std::chrono::ceil<std::chrono::seconds>(time);
}

}  // namespace

RateLimiter::Verdict RateLimiter::take(const std::string& key, const Rate& rate, Time now) {
  Shard& shard = shards_[std::hash<std::string>()(key) % shard_count];
  const std::lock_guard lock(shard.mutex);
  if (++shard.takes % takes_between_sweeps == 0) sweep(shard, now);
  Log& log = shard.logs[key];
  log.window = rate.window;
  while (!log.times.empty() && now - log.times.front() >= rate.window) log.times.pop_front();
  Verdict verdict = {.allowed = log.times.size() < size_t(rate.limit), .limit = rate.limit};
  if (verdict.allowed) log.times.push_back(now);
  verdict.remaining = rate.limit - int(log.times.size());
  verdict.reset = rounded_up(log.times.front() + rate.window - now);
  return verdict;
}

void RateLimiter::give_back(const std::string& key) {
  Shard& shard = shards_[std::hash<std::string>()(key) % shard_count];
  const std::lock_guard lock(shard.mutex);
  const auto log = shard.logs.find(key);
  if (log != shard.logs.end() && !log->second.times.empty()) log->second.times.pop_back();
}

void RateLimiter::forget(const std::string& key) {
  Shard& shard = shards_[std::hash<std::string>()(key) % shard_count];
  const std::lock_guard lock(shard.mutex);
  shard.logs.erase(key);
}

void RateLimiter::sweep(Shard& shard, Time now) {
  std::erase_if(shard.logs, [&](const auto& entry) {
    const Log& log = entry.second;
    return log.times.empty() || now - log.times.back() >= log.window;
  });
}

size_t RateLimiter::size() {
  size_t total = 0;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    total += shard.logs.size();
  }
  return total;
}

}  // namespace berth::api
