#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/domain/deployments/runs/crons.h"
#include "controller/domain/kernel/loop.h"

namespace berth::reconcilers {

// Makes the runs of crons when they are due by the database's clock
// (controller/domain/deployments/runs/crons.h); the loop of the cluster then starts them. One loop
// runs for each database, whether or not its process leads the cluster; if that process dies, the
// loop of another one goes on. Used by one thread, but for outcomes(), which is thread-safe.
class CronLoop {
 public:
  static constexpr std::string_view name = "crons";
  // Crons in one transaction, which holds up other writes for some milliseconds.
  static constexpr int default_batch = 50;

  explicit CronLoop(int batch = default_batch) : batch_(batch) {}

  // Due crons are polled for once a second and no timer is set, because the clock can be moved. A
  // poll is one look-up in an index.
  Loop loop();

  // How often crons came to each outcome since this process started, by name; `failed` counts those
  // that are tried again.
  std::vector<std::pair<std::string, std::uint64_t>> outcomes() const;

  // Processes everything that is due, batch by batch. Returns how many crons it looked at. Throws
  // Error `unavailable` if the database can't be used.
  int run_once(Round& round);

 private:
  void correct(Round& round);
  void look_at(Round& round, const std::vector<crons::Key>& keys);
  void look_at_together(Round& round, const std::vector<crons::Key>& keys);

  const int batch_;
  std::array<std::atomic<std::uint64_t>, crons::outcome_count> outcomes_{};
  std::atomic<std::uint64_t> failures_{0};
};

}  // namespace berth::reconcilers
