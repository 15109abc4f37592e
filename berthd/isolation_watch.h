#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/gate/services.h"
#include "berthd/config.h"
#include "berthd/gauges.h"
#include "controller/domain/kernel/loop.h"
#include "reconcilers/cluster/engine.h"
#include "reconcilers/cluster/isolation_probe.h"

namespace berth {

// Has a loop that runs the isolation probe, and keeps what is known of the isolation of tenants in
// memory, because anybody may request /health. On the simulated cluster nothing is probed.
//
// All functions may be called from any thread.
class IsolationWatch {
 public:
  struct Parts {
    const Config& config;
    db::Database& database;
    const Clock& clock;
    reconcilers::Engine& engine;
    manifests::Settings settings;  // those of the tenants
    std::string server;            // the URL of the API server
    // What the probe's containers run (IsolationProbe::Parts).
    std::function<std::string()> image;
    // berthd's own listeners, with the ports that they have.
    std::function<std::vector<Address>()> listeners;
    // Starts the next round of the loop at once.
    std::function<void()> wake;
  };
  explicit IsolationWatch(Parts parts);

  static constexpr std::string_view name = "isolation";
  // The loop isn't to be run on the simulated cluster.
  Loop loop();

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
  std::stop_token stop_;                           // of the round that runs, which alone uses it
  reconcilers::IsolationProbe probe_;
};

}  // namespace berth
