#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/domain/deployments/scales.h"
#include "controller/domain/kernel/loop.h"
#include "reconcilers/cluster/request_load.h"
#include "reconcilers/cluster/scale_decision.h"

namespace berth::reconcilers {

// Sets how many containers processes with `scale` have, by the requests that are in flight. It
// looks at the ingress controller every two seconds, for all deployments at once, and writes only
// numbers that change; the deployment loop makes the cluster match. More containers come at once,
// fewer after the quiet time (scale_decision.h). If the load isn't known, nothing changes.
//
// Of several berthd processes on one database, one runs the loop. One that begins, because it was
// started or the other one has ended, begins with the stored numbers and a new quiet time. Used by
// one thread, but for in_flight(), which is thread-safe.
class Autoscaler {
 public:
  static constexpr std::string_view name = "autoscaler";

  struct Options {
    std::chrono::milliseconds interval = std::chrono::seconds(2);
    std::chrono::milliseconds quiet_time = std::chrono::minutes(5);
  };
  struct Parts {
    LoadSource load;  // empty if nothing counts requests
    std::shared_ptr<prometheus::Registry> registry;
    std::function<LoadTime()> now = std::chrono::steady_clock::now;
  };

  explicit Autoscaler(Parts parts) : Autoscaler(std::move(parts), Options()) {}
  Autoscaler(Parts parts, Options options);

  Loop loop();
  // Looks, decides and writes. The next look is due after ten times as long as this one took, but
  // within half a minute, so that a large ingress controller isn't kept busy by it. Throws Error
  // `unavailable`.
  void run_once(Round& round);

  // The requests in flight of the deployment's web as they were seen last; nothing if it has no
  // `scale`, they aren't known, or another process runs the loop.
  std::optional<double> in_flight(const std::string& deployment_id) const;

 private:
  using Scaled = deployments::scales::Scaled;
  // The log of a deployment gets one entry within this time at most; the next one says what came of
  // all changes meanwhile.
  static constexpr std::chrono::minutes logged_each{1};
  // How many numbers are written in one transaction, which holds up other writes.
  static constexpr std::size_t batch = 50;
  // The least pause between two looks, in lengths of the one before.
  static constexpr int pause_in_looks = 9;
  // The longest one. With that of the look itself, the time between two looks must stay below
  // QuietTime::longest_gap, or no container would ever be removed.
  static constexpr std::chrono::seconds longest_pause{15};

  struct Known {
    QuietTime quiet;
    std::optional<LoadTime> logged_at = {};
    int logged = 0;  // the number that the log's newest entry says
  };
  using Changes = std::vector<deployments::scales::Change>;

  std::optional<RequestLoad> look(const std::vector<Scaled>& all, LoadTime now);
  void say_whether_known(bool is_known);
  std::optional<deployments::scales::Change> decide(const Scaled& process, const RequestLoad& load,
                                                    LoadTime now);
  void write(Round& round, const Changes& changes, LoadTime now);
  void forget_others(const std::vector<Scaled>& all);

  const Parts parts_;
  const Options options_;
  prometheus::Family<prometheus::Counter>& looks_;
  prometheus::Counter& complete_;
  prometheus::Counter& incomplete_;
  prometheus::Counter& missing_;
  prometheus::Family<prometheus::Counter>& changes_;
  prometheus::Counter& up_;
  prometheus::Counter& down_;
  prometheus::Gauge& deployments_;
  prometheus::Gauge& at_most_;

  std::map<std::string, Known> known_;  // by deployment; only web has `scale`
  std::optional<LoadTime> next_look_;
  bool is_known_ = true;  // whether the last look found out the load
  bool has_warned_ = false;
  mutable std::mutex mutex_;
  std::map<std::string, double> in_flight_;
};

}  // namespace berth::reconcilers
