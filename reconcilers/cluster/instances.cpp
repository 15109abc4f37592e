#include "reconcilers/cluster/instances.h"

#include <algorithm>
#include <tuple>

#include "reconcilers/cluster/job_pod.h"
#include "reconcilers/cluster/observe.h"
#include "reconcilers/cluster/pod_trouble.h"

namespace berth::reconcilers {
namespace {

std::string template_wanted(const Cache& cache, const std::string& deployment_id) {
  for (const ObjectPtr& deployment : cache.store(kube::deployments).of_deployment(deployment_id))
    return template_wanted_by(*deployment);
  return {};
}

using instances::Instance;
using instances::State;

Instance instance_of(const Object& pod, const std::string& wanted) {
  const Object& status = container_status(pod);
  const Object& state = field(status, {"state"});
  const bool runs = !field(state, {"running"}).is_null();
  const bool ended = !field(state, {"terminated"}).is_null();
  const std::int64_t restarts = number_at(status, {"restartCount"});
  return {.name = name_of(pod),
          .image = text_at(status, {"image"}),
          .state = runs    ? State::running
                   : ended ? State::ended
                           : State::waiting,
          .reason = text_at(state, {ended ? "terminated" : "waiting", "reason"}),
          .node = text_at(pod, {"spec", "nodeName"}),
          .is_newest = template_of(pod) == wanted,
          .is_ready = is_ready(pod) && !is_being_deleted(pod),
          .has_log = runs || ended || restarts > 0,
          .restarts = restarts,
          .started_at = instant_at(state, {"running", "startedAt"}),
          .made_at = instant_at(pod, {"metadata", "creationTimestamp"})};
}

}  // namespace

std::vector<Instance> instances_of(const Cache& cache, const std::string& deployment_id) {
  const std::string wanted = template_wanted(cache, deployment_id);
  std::vector<Instance> all;
  for (const ObjectPtr& pod : containers_of(cache, deployment_id))
    all.push_back(instance_of(*pod, wanted));
  std::ranges::sort(all, [](const Instance& a, const Instance& b) {
    return std::tuple(b.made_at, b.is_newest, b.name) < std::tuple(a.made_at, a.is_newest, a.name);
  });
  if (all.size() > instances::max_instances) all.resize(instances::max_instances);
  return all;
}

}  // namespace berth::reconcilers
