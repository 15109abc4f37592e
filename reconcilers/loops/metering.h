#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/kernel/loop.h"

namespace berth::reconcilers {

// Renews holds, settles, warns and suspends for what is metered
// (controller/domain/deployments/metering/settlement.h), and removes what the meter has kept for
// long enough. It processes the apps that are due by the database's clock; whatever became due
// while berthd was down is done afterwards. One loop runs for each database, whether or not its
// process leads the cluster; if that process dies, the loop of another one goes on. Used by one
// thread, but for totals(), which is thread-safe.
class MeteringLoop {
 public:
  static constexpr std::string_view name = "metering";
  struct Options {
    // Apps in one transaction, which holds up other writes for some milliseconds.
    int batch = 50;
    // How often old rows are looked for, how many intervals go in one transaction, and of how many
    // deployments the days go.
    std::chrono::milliseconds clean_up = std::chrono::hours(1);
    int rows = 1'000;
    int deployments = 100;
  };

  explicit MeteringLoop(std::string data_key) : MeteringLoop(std::move(data_key), Options()) {}
  MeteringLoop(std::string data_key, Options options)
      : data_key_(std::move(data_key)), options_(options) {}

  // Due apps are polled for once a second and no timer is set, because the clock can be moved. A
  // poll is one look-up in an index.
  Loop loop();

  struct Totals {
    metering::Outcome done;
    std::uint64_t failed = 0;  // apps that are tried again
  };
  // What was done since this process started.
  Totals totals() const;

  // Processes everything that is due, batch by batch, and removes old rows once per `clean_up`.
  // Returns how many apps it looked at. Throws Error `unavailable` if the database can't be used.
  int run_once(Round& round);

 private:
  using SteadyClock = std::chrono::steady_clock;

  // The first look for old rows, so that a start isn't burdened with it.
  static constexpr std::chrono::minutes first_clean_up{1};

  void look_at(Round& round, const std::vector<std::string>& apps);
  void look_at_together(Round& round, const std::vector<std::string>& apps);
  void clean_up(Round& round);

  const std::string data_key_;
  const Options options_;
  SteadyClock::time_point next_clean_up_ =
      SteadyClock::now() + std::min<std::chrono::milliseconds>(first_clean_up, options_.clean_up);
  mutable std::mutex mutex_;
  Totals totals_;
};

}  // namespace berth::reconcilers
