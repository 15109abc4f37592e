#pragma once

#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/gate/cluster_view.h"
#include "berthd/build_work.h"
#include "berthd/config.h"
#include "berthd/gauges.h"
#include "berthd/isolation_watch.h"
#include "berthd/local_machine.h"
#include "berthd/ops_server.h"
#include "berthd/storage.h"
#include "reconcilers/cluster/autoscaler.h"
#include "reconcilers/cluster/container_logs.h"
#include "reconcilers/cluster/container_tokens.h"
#include "reconcilers/cluster/engine.h"
#include "reconcilers/cluster/kube_exec.h"
#include "reconcilers/cluster/usage_history.h"
#include "reconcilers/cluster/usage_sampler.h"
#include "reconcilers/embedded/cluster.h"
#include "reconcilers/loops/loops.h"

namespace berth {

// What berthd does for its cluster, which may be simulated or this machine alone, and what it knows
// of it. All functions but add_to() may be called from any thread.
class ClusterWork {
 public:
  struct Parts {
    const Config& config;
    Storage& storage;
    std::shared_ptr<prometheus::Registry> registry;
    // berthd's own listeners: `listen`, then the others. Called once all of them have their ports.
    std::function<std::vector<Address>()> listeners;
    std::function<void(std::string_view loop)> wake;
  };
  // Throws StartError if there is no way to the cluster, or the namespace of the Lease can't be
  // found.
  explicit ClusterWork(Parts parts);

  // Adds the engine and the loops of the cluster.
  void add_to(reconcilers::Loops& loops);
  // Returns the functions by which handlers ask for the cluster, which use this object.
  api::ClusterView view();

  // Passes a notice of the database on.
  void changed(db::Topic topic, const std::string& id);
  // The same if notices may have been lost.
  void any_changed() { engine_.look_at_all(); }
  // Reads what the process that leads has found, if that is another one on the same database.
  void reread() { isolation_.reread(); }

  // On the simulated cluster, berthd itself answers requests for hosts below apps-domain. Returns
  // false if this is none.
  bool answer_page(const api::Request& request, api::Response& response) const;

  bool is_simulated() const { return simulated_ != nullptr; }
  // The Unix socket on which berthd's own ingress controller passes requests on; empty if it has
  // none.
  std::string ingress_socket() const;
  // Where a browser on this machine finds berth through the ingress controller of its own; nothing
  // if it has none.
  std::optional<std::string> own_url() const;
  api::KubernetesState state() const;
  // The lines of /readyz.
  std::vector<Check> readiness() const;
  std::optional<Gauges::Isolation> isolation_gauge() { return isolation_.gauge(); }

 private:
  std::string url_of(const std::string& host) const;
  std::string isolation_image() const;
  // Where requests are counted.
  reconcilers::RequestCounts counts() const;
  // Where the autoscaler looks.
  reconcilers::LoadSource load() const;
  api::Fleet fleet();
  std::unique_ptr<exec::Session> open_session(const exec::Wanted& wanted);

  const Parts parts_;
  const std::unique_ptr<LocalMachine> machine_;         // null unless kubernetes is local
  const std::unique_ptr<embedded::Cluster> simulated_;  // null if there is another one
  const kube::Kubeconfig access_;
  const manifests::Settings settings_;
  reconcilers::Engine engine_;
  reconcilers::UsageHistory usage_history_;
  reconcilers::UsageSampler usage_sampler_;
  reconcilers::Autoscaler autoscaler_;
  IsolationWatch isolation_;
  reconcilers::ContainerLogs container_logs_;
  reconcilers::ContainerTokens container_tokens_;
  const std::unique_ptr<reconcilers::KubeExec> exec_;  // null without the account for it
  const std::unique_ptr<BuildWork> builds_;            // null if there is no builder
};

}  // namespace berth
