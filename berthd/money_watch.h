#pragma once

#include <array>
#include <map>
#include <mutex>

#include "controller/db/request_limits.h"
#include "controller/domain/kernel/loop.h"
#include "controller/domain/money/anomalies.h"

namespace berth {

// Remembers how many anomalies each rule finds, for the metrics: the rules read too many rows for
// every scrape. Thread-safe.
class MoneyWatch {
 public:
  static constexpr std::chrono::minutes interval{10};

  using Counts = std::map<money::Rule, int>;
  // Empty until the first round.
  Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  // Counts them. It has to live as long as the loop.
  Loop loop() {
    return {.name = "money",
            .interval = interval,
            .round =
                [this](Round& round) {
                  Counts counts = {{money::Rule::farming, 0},
                                   {money::Rule::sudden_outflow, 0},
                                   {money::Rule::self_clicking, 0}};
                  // Requests don't wait for the connections of so many rows.
                  const auto found =
                      db::limited({.readers = db::Readers::heavy,
                                   .statement_time = db::RequestLimits::heavy_statement_time},
                                  [&] { return round.read(money::anomalies); });
                  for (const money::Anomaly& one : found) ++counts[one.rule];
                  const std::lock_guard lock(mutex_);
                  counts_ = std::move(counts);
                },
            .failure = "what is unusual about points couldn't be counted"};
  }

 private:
  mutable std::mutex mutex_;
  Counts counts_;
};

}  // namespace berth
