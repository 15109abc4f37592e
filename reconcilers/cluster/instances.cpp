#include "reconcilers/cluster/instances.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "manifests/manifests.h"
#include "reconcilers/cluster/job_pod.h"
#include "reconcilers/cluster/observe.h"
#include "reconcilers/cluster/pod_trouble.h"

namespace berth::reconcilers {
namespace {

// The templates that the deployment's processes are meant to have.
std::set<std::string> templates_wanted(const Cache& cache, const std::string& deployment_id) {
  std::set<std::string> wanted;
  for (const ObjectPtr& deployment : cache.store(kube::deployments).of_deployment(deployment_id))
    wanted.insert(template_wanted_by(*deployment));
  return wanted;
}

std::string phase_of(const Object& pod) {
  if (is_being_deleted(pod)) return "ending";
  // Whether it has a port makes no difference to how far it has come, as far as anybody sees it.
  deployments::ProcessSpec process;
  process.port = deployments::default_port;
  return std::string(to_string(state_of(pod, {}, process, Patience(), system_time()).step));
}

using instances::Instance;
using instances::State;

Instance instance_of(const Object& pod, const std::set<std::string>& wanted) {
  const Object& status = container_status(pod);
  const Object& state = field(status, {"state"});
  const bool runs = !field(state, {"running"}).is_null();
  const bool ended = !field(state, {"terminated"}).is_null();
  const std::int64_t restarts = number_at(status, {"restartCount"});
  constexpr std::size_t version_length = 8;  // tells the few versions of a deployment apart
  return {.name = name_of(pod),
          .process = manifests::process_of(pod),
          .image = text_at(status, {"image"}),
          .version = template_of(pod).substr(0, version_length),
          .phase = phase_of(pod),
          .state = runs    ? State::running
                   : ended ? State::ended
                           : State::waiting,
          .reason = text_at(state, {ended ? "terminated" : "waiting", "reason"}),
          .node = text_at(pod, {"spec", "nodeName"}),
          .is_newest = wanted.contains(template_of(pod)),
          .is_ready = is_ready(pod) && !is_being_deleted(pod),
          .has_log = runs || ended || restarts > 0,
          .restarts = restarts,
          .started_at = instant_at(state, {"running", "startedAt"}),
          .made_at = instant_at(pod, {"metadata", "creationTimestamp"})};
}

}  // namespace

std::vector<Instance> instances_of(const Cache& cache, const std::string& deployment_id) {
  const std::set<std::string> wanted = templates_wanted(cache, deployment_id);
  std::vector<Instance> all;
  for (const ObjectPtr& pod : containers_of(cache, deployment_id))
    if (!manifests::process_of(*pod).empty()) all.push_back(instance_of(*pod, wanted));
  std::ranges::sort(all, [](const Instance& a, const Instance& b) {
    return std::tuple(b.made_at, b.is_newest, b.name) < std::tuple(a.made_at, a.is_newest, a.name);
  });
  if (all.size() > instances::max_instances) all.resize(instances::max_instances);
  return all;
}

}  // namespace berth::reconcilers
