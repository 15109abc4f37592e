#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"

// What deployments used over time. reconcilers/cluster/usage_history.h keeps it outside of berth's
// database; here are only the types with which the API asks for it.
namespace berth::usage_history {

// The figures that are kept for each step of time. `cpu` (millicores), `memory` (bytes) and
// `replicas` (pods that are ready) are levels; `restarts` and `requests_…` count what happened
// during the step; `latency_…` are quantiles of the times of answers, in milliseconds.
enum class Metric {
  cpu,
  memory,
  replicas,
  restarts,
  requests_2xx,
  requests_3xx,
  requests_4xx,
  requests_5xx,
  latency_p50,
  latency_p95,
  latency_p99
};
constexpr auto texts_of(Metric) {
  return EnumTexts<Metric::latency_p99>{
      "cpu",          "memory",       "replicas",    "restarts",    "requests_2xx", "requests_3xx",
      "requests_4xx", "requests_5xx", "latency_p50", "latency_p95", "latency_p99"};
}
inline constexpr size_t metrics = size_t(Metric::latency_p99) + 1;

// The values of one deployment and one step, by Metric; what wasn't measured is empty.
using Values = std::array<std::optional<std::int64_t>, metrics>;

// The two lengths of steps, and for how long steps of them are kept.
inline constexpr Duration minute = std::chrono::minutes(1);
inline constexpr Duration minutes_kept_for = std::chrono::hours(24);
inline constexpr Duration quarter = std::chrono::minutes(15);
inline constexpr Duration quarters_kept_for = std::chrono::days(30);

// Steps of one deployment: the first begins at `from`, which is a multiple of `step` (`minute` or
// `quarter`) since the epoch.
struct Wanted {
  std::string deployment_id;
  Instant from;
  Duration step = minute;
  int count = 0;
};
// Returns the values of as many steps as were wanted, the oldest first. Answers within
// milliseconds. Throws std::exception if the history can't be read.
using Read = std::function<std::vector<Values>(const Wanted&)>;

}  // namespace berth::usage_history
