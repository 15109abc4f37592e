#pragma once

#include <map>
#include <string>

#include "controller/base/clock.h"
#include "controller/domain/kernel/loop.h"
#include "reconcilers/cluster/cache.h"
#include "reconcilers/cluster/traefik_metrics.h"
#include "reconcilers/cluster/usage.h"
#include "reconcilers/cluster/usage_history.h"
#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

// Measures once a minute what all deployments use, and stores it. It reads one list of pod metrics
// and one page of Traefik's metrics for all of them. Used by one thread, which belongs to the
// composition root. Each of several berthd processes measures for itself, whether it leads or not,
// so that all of them know the history.
class UsageSampler {
 public:
  struct Parts {
    const Cache& cache;
    UsageHistory& history;
    const Clock& clock;
    kube::Kubeconfig cluster;
    std::string label_selector;  // selects the pods
    RequestCounts requests = {};
  };
  explicit UsageSampler(Parts parts);

  // Calls run_once() every two seconds, so that no minute is missed.
  Loop loop();
  // Measures and stores, unless that was done within the clock's present minute. Takes some seconds
  // at most. Never throws: logs what couldn't be measured or stored, which is then missing.
  void run_once();

 private:
  using Samples = UsageHistory::Samples;
  Samples measure();
  void add_pods(Samples& samples);
  void add_pod_metrics(Samples& samples);
  void add_traffic(Samples& samples);

  const Parts parts_;
  kube::Client client_;  // separate: it has short time-outs and never retries
  const TraefikMetrics traefik_;
  // What was counted when it was last measured, by deployment.
  std::int64_t measured_minute_ = 0;
  // The namespaces of the deployments that are measured.
  std::map<std::string, std::string> namespaces_;
  std::map<std::string, Restarts> restarts_;
  std::map<std::string, Traffic> traffic_;
};

}  // namespace berth::reconcilers
