#include "reconcilers/cluster/usage.h"

#include <cmath>

#include "controller/base/log.h"
#include "controller/base/quantity.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/job_pod.h"
#include "reconcilers/cluster/pod_trouble.h"

namespace berth::reconcilers {
namespace {

constexpr std::chrono::seconds connect_timeout{1};
constexpr std::chrono::seconds request_timeout{2};
constexpr double millicores_of_a_core = 1000;

kube::ClientOptions impatient(kube::RequestObserver observer) {
  kube::ClientOptions options;
  options.connect_timeout = connect_timeout;
  options.request_timeout = request_timeout;
  options.max_retries = 0;
  options.observer = std::move(observer);
  return options;
}

}  // namespace

std::int64_t restarts_of(const std::vector<ObjectPtr>& pods) {
  std::int64_t restarts = 0;
  for (const ObjectPtr& pod : pods) restarts += number_at(container_status(*pod), {"restartCount"});
  return restarts;
}

void add_measured(Usage& usage, const Object& pod_metrics) {
  long double cores = 0;
  long double bytes = 0;
  bool measured = false;
  for (const Object& pod : field(pod_metrics, {"items"})) {
    for (const Object& container : field(pod, {"containers"})) {
      cores += parse_quantity(text_at(container, {"usage", "cpu"})).value_or(0);
      bytes += parse_quantity(text_at(container, {"usage", "memory"})).value_or(0);
      measured = true;
    }
  }
  if (!measured) return;
  usage.cpu_millicores = std::llround(cores * millicores_of_a_core);
  usage.memory_bytes = std::llround(bytes);
}

UsageReader::UsageReader(Parts parts)
    : cache_(parts.cache),
      client_(std::move(parts.cluster), impatient(std::move(parts.observer))),
      traefik_(std::move(parts.requests)) {}

Usage UsageReader::of(const deployments::Deployment& row) {
  Usage usage;
  const std::string name_space = manifests::namespace_of(row.app_id);
  const ClusterState state = cache_.state();
  if (state.synced) usage.restarts = restarts_of(containers_of(cache_, row.id));
  if (state.connected) {
    const std::string path = "/apis/metrics.k8s.io/v1beta1/namespaces/" + name_space +
                             "/pods?labelSelector=berth%2Fdeployment%3D" + row.id +
                             "%2C%21berth%2Frun";
    try {
      add_measured(usage, Object::parse(client_.raw(path)));
    } catch (const std::exception& error) {
      // A cluster needn't have a metrics server; without one the API answers 404 or 503.
      log::debug("a deployment's pod metrics couldn't be read",
                 {{"deployment", row.id}, {"error", error.what()}});
    }
  }
  usage.requests = traefik_.requests(name_space, manifests::object_name(row.id), service_port);
  return usage;
}

}  // namespace berth::reconcilers
