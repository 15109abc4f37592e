#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/gate/services.h"
#include "controller/berthd/config.h"
#include "controller/berthd/gauges.h"
#include "reconcilers/cluster/engine.h"
#include "reconcilers/cluster/isolation_probe.h"
#include "reconcilers/loops/repeating.h"

namespace berth {

// Runs the isolation probe on a thread of its own, and keeps what is known of the isolation of
// tenants in memory, because anybody may request /health. On the simulated cluster nothing is
// probed.
//
// All functions may be called from any thread, except for start() and stop().
class IsolationWatch {
 public:
  struct Parts {
    const Config& config;
    db::Database& database;
    const Clock& clock;
    reconcilers::Engine& engine;
    manifests::Settings settings;  // those of the tenants
    // berthd's own listeners, with the ports that they have.
    std::function<std::vector<Address>()> listeners;
  };
  explicit IsolationWatch(Parts parts);

  void start();
  void stop();

  api::Isolation now();
  // Asks for a run of the probe. Throws Error `invalid_state` if nothing is probed, and
  // `unavailable` if another process leads.
  api::Isolation ask();
  // Reads what the process that leads has found, if that is another one on the same database.
  void reread();
  // Nothing if nothing is probed.
  std::optional<Gauges::Isolation> gauge();
  // Why deployments that aren't on the cluster yet have to wait; empty if they needn't.
  std::string why_new_ones_wait();

 private:
  reconcilers::IsolationProbe::Parts parts_of_probe();
  std::shared_ptr<const isolation::Known> read() const;
  std::shared_ptr<const isolation::Known> known();
  void take_result();

  const Parts parts_;
  const bool is_simulated_;
  std::mutex mutex_;
  std::shared_ptr<const isolation::Known> known_;  // what the database says
  reconcilers::IsolationProbe probe_;
  reconcilers::Repeating probing_;
};

}  // namespace berth
