#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"
#include "reconcilers/cluster/cache.h"
#include "reconcilers/cluster/traefik_metrics.h"
#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

// What a deployment uses at present. A number that isn't known is empty.
struct Usage {
  std::optional<std::int64_t> cpu_millicores;
  std::optional<std::int64_t> memory_bytes;
  // How often the containers of the present pods were restarted.
  std::optional<std::int64_t> restarts;
  std::optional<std::int64_t> requests;  // how many requests the ingress controller has passed on
};

// The name of the port in manifests/service.yaml, by which Traefik names the service.
inline constexpr const char* service_port = "http";

// Adds up a PodMetricsList (metrics.k8s.io/v1beta1) into cpu_millicores and memory_bytes. Leaves
// both empty if no pod has been measured yet.
void add_measured(Usage& usage, const Object& pod_metrics);

// The restarts of the containers of these pods.
std::int64_t restarts_of(const std::vector<ObjectPtr>& pods);

// The restarts of each pod's container, by the pod's uid.
using Restarts = std::map<std::string, std::int64_t>;
Restarts restarts_by_pod(const std::vector<ObjectPtr>& pods);
// How many restarts of `now` there weren't `before`. A new pod begins at 0, and what the pods had
// that have left doesn't count again.
std::int64_t restarts_since(const Restarts& before, const Restarts& now);

// Asks metrics.k8s.io and Traefik on behalf of a waiting caller: each must answer within seconds or
// its numbers count as unknown. Thread-safe.
class UsageReader {
 public:
  struct Parts {
    Cache& cache;
    kube::Kubeconfig cluster;
    kube::RequestObserver observer;
    RequestCounts requests = {};
  };
  explicit UsageReader(Parts parts);
  // Takes a few seconds at most; never throws because of the cluster or Traefik.
  Usage of(const deployments::Deployment& row);

 private:
  Cache& cache_;
  kube::Client client_;  // separate: it has short time-outs and never retries
  TraefikMetrics traefik_;
};

}  // namespace berth::reconcilers
