#pragma once

#include <algorithm>
#include <chrono>

namespace berth::api {

// A limit: at most `limit` requests in any span of time of the length `window`, whenever it begins
// (a sliding log, not buckets).
struct Rate {
  int limit = 0;
  std::chrono::seconds window{60};
};
constexpr Rate per_minute(int limit) { return {limit, std::chrono::seconds(60)}; }
// Returns the part of a limit that each of `replicas` berthd processes on a database allows, since
// each counts only its own requests: at least one request.
constexpr Rate share_of(const Rate& rate, int replicas) {
  return {std::max(1, rate.limit / std::max(1, replicas)), rate.window};
}

}  // namespace berth::api
