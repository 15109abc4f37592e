#pragma once

#include <chrono>

namespace berth::api {

// Limits requests to `limit` in any time span of this length (a sliding log, not buckets).
struct Rate {
  int limit = 0;
  std::chrono::seconds window{60};
};
constexpr Rate per_minute(int limit) { return {limit, std::chrono::seconds(60)}; }

}  // namespace berth::api
