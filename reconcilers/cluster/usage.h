#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"
#include "reconcilers/cluster/cache.h"
#include "reconcilers/cluster/traefik_metrics.h"
#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

// What a deployment uses. Nothing where that isn't known.
struct Usage {
  std::optional<std::int64_t> cpu_millicores;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> restarts;  // of the containers of the pods that there are
  std::optional<std::int64_t> requests;  // that the ingress controller has passed on
};

// Adds up a PodMetricsList of metrics.k8s.io/v1beta1 into cpu_millicores and memory_bytes; nothing
// where no pod was measured yet.
void add_measured(Usage& usage, const Object& pod_metrics);

// Asks metrics.k8s.io and Traefik while somebody waits: each answers within seconds or counts as
// unknown. Thread-safe.
class UsageReader {
 public:
  struct Parts {
    Cache& cache;
    kube::Kubeconfig cluster;
    kube::RequestObserver observer;
    std::string traefik_metrics_url;  // empty: requests aren't known
  };
  explicit UsageReader(Parts parts);
  Usage of(const deployments::Deployment& row);

 private:
  Cache& cache_;
  kube::Client client_;  // of its own: impatient, and it never tries again
  TraefikMetrics traefik_;
};

}  // namespace berth::reconcilers
