#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/kernel/loop.h"

namespace berth::reconcilers {

// Renews, warns, suspends and reactivates deployments
// (controller/domain/deployments/billing/billing.h), and retries releases that couldn't be paid
// (controller/domain/deployments/runs/releases.h). It processes what is due by the database's
// clock, and deployments in debt whose app was credited; whatever became due while berthd was down
// is done afterwards. One loop runs for each database, whether or not its process leads the
// cluster; if that process dies, the loop of another one goes on. Used by one thread, but for
// credited(), any_credited() and outcomes(), which are thread-safe.
class BillingLoop {
 public:
  static constexpr std::string_view name = "billing";
  struct Options {
    // How often all deployments in debt are checked, so that a credit whose notification was lost,
    // or a lower price, takes effect within a minute.
    std::chrono::milliseconds sweep = std::chrono::minutes(1);
    // Deployments in one transaction, which holds up other writes for some milliseconds.
    int batch = 50;
  };

  explicit BillingLoop(std::string data_key) : BillingLoop(std::move(data_key), Options()) {}
  BillingLoop(std::string data_key, Options options)
      : data_key_(std::move(data_key)), options_(options) {}

  // Due deployments are polled for once a second and no timer is set, because the clock can be
  // moved. A poll is one look-up in an index. Apps are credited with each spending, so credits that
  // arrive within the loop's `rest` are handled by one check.
  Loop loop();

  // Call this when the app's account was credited (db::Topic::app_balance), and wake the loop then.
  void credited(const std::string& app_id);
  // Call this when such notifications may have been lost; all deployments in debt are then checked
  // in the next round.
  void any_credited() { is_sweep_due_ = true; }

  // How often billing came to each outcome since this process started, by name; `failed` counts
  // deployments that are tried again.
  std::vector<std::pair<std::string, std::uint64_t>> outcomes() const;

  // Processes everything that is due, batch by batch, and the deployments in debt: all of them the
  // first time and once per `sweep`, otherwise those of credited apps. Returns how many deployments
  // it checked. Throws Error `unavailable` if the database can't be used.
  int run_once(Round& round);

 private:
  using SteadyClock = std::chrono::steady_clock;

  // The ids of credited apps that are kept until the next round; if there are more, all debts are
  // checked.
  static constexpr size_t max_credited = 1'000;

  // An empty id means all apps.
  int look_at_debts(Round& round, const std::string& app_id);
  // Has releases run that were refused for want of points, if there are some now.
  void retry_releases(Round& round, const std::string& app_id);
  int look_at_due(Round& round);
  void look_at(Round& round, const std::vector<std::string>& ids);
  void look_at_together(Round& round, const std::vector<std::string>& ids);

  const std::string data_key_;
  const Options options_;
  std::array<std::atomic<std::uint64_t>, billing::outcome_count> outcomes_{};
  std::atomic<std::uint64_t> failures_{0};
  SteadyClock::time_point next_sweep_;
  std::atomic<bool> is_sweep_due_ = false;
  std::mutex mutex_;
  std::set<std::string> credited_;  // the ids of apps
};

}  // namespace berth::reconcilers
