#include "reconcilers/cluster/resizing.h"

#include <algorithm>

#include "manifests/manifests.h"
#include "reconcilers/cluster/observe.h"
#include "reconcilers/cluster/pod_trouble.h"

namespace berth::reconcilers {
namespace {

using deployments::ContainerSize;

std::optional<ContainerSize> size_in_spec(const Object& spec) {
  for (const Object& container : field(spec, {"containers"}))
    if (text_at(container, {"name"}) == manifests::container_name)
      return manifests::size_in(container);
  return std::nullopt;
}

bool is_larger(const ContainerSize& one, const ContainerSize& other) {
  return one.memory_mb > other.memory_mb || one.cpu_millicores > other.cpu_millicores;
}

// Whether the pod's container has the size that its spec names. One that doesn't run gets it when
// it starts.
bool has_been_given(const Object& pod, const ContainerSize& wanted) {
  const Object& status = container_status(pod);
  return !field(status, {"state", "running"}).is_object() || manifests::size_in(status) == wanted;
}

// Why the kubelet doesn't give the pod's container the size that its spec names; empty if it only
// hasn't done it yet. A change that has to wait for room on its node is a refusal, too, because
// another node may have room (kubernetes.io, "Resize CPU and Memory Resources assigned to
// Containers", "Pod resize status").
std::string refusal_of(const Object& pod) {
  const Object& pending = condition(pod, "PodResizePending");
  if (text_at(pending, {"status"}) == "True")
    return text_at(pending, {"reason"}) + ": " + text_at(pending, {"message"});
  const Object& under_way = condition(pod, "PodResizeInProgress");
  if (text_at(under_way, {"status"}) == "True" && text_at(under_way, {"reason"}) == "Error")
    return "Error: " + text_at(under_way, {"message"});
  return "";
}

// The pods of the Deployment's present template that aren't going.
std::vector<ObjectPtr> pods_of_template(const Object& deployment,
                                        const std::vector<ObjectPtr>& pods) {
  const std::string wanted = template_wanted_by(deployment);
  const std::string process = manifests::process_of(deployment);
  std::vector<ObjectPtr> found;
  for (const ObjectPtr& pod : pods)
    if (manifests::process_of(*pod) == process && template_of(*pod) == wanted &&
        !is_being_deleted(*pod) && !is_over(*pod))
      found.push_back(pod);
  return found;
}

std::optional<Resizing> resizing_of(const Object& deployment, const std::vector<ObjectPtr>& pods,
                                    const ContainerSize& wanted, int replicas, bool is_new) {
  const auto in_template = size_in_spec(field(deployment, {"spec", "template", "spec"}));
  if (!in_template || is_being_deleted(deployment) || pods.empty() || replicas == 0)
    return std::nullopt;
  Resizing found{.process = manifests::process_of(deployment),
                 .wanted = wanted,
                 .in_template = *in_template,
                 .pods = {},
                 .refusal = {}};
  bool any_can_serve = false;
  for (const ObjectPtr& pod : pods) {
    const bool is_asked_for = size_in_spec(field(*pod, {"spec"})) == wanted;
    any_can_serve = any_can_serve || is_asked_for || is_ready(*pod);
    if (!is_asked_for) {
      found.pods.push_back(pod);
      found.is_under_way = true;
    } else if (!has_been_given(*pod, wanted)) {
      found.is_under_way = true;
      if (found.refusal.empty()) found.refusal = refusal_of(*pod);
    }
  }
  const bool template_fits = *in_template == wanted;
  if (template_fits && !found.is_under_way) return std::nullopt;
  if (!any_can_serve) {
    if (!template_fits || is_new) return std::nullopt;
    // The pods were changed before, and the template that is wanted now is the one they were made
    // of, so that applying it changes nothing.
    found.refusal = "no container of the process is ready";
  }
  if (is_larger(*in_template, wanted) && int(pods.size()) < replicas) return std::nullopt;
  return found;
}

}  // namespace

std::vector<Resizing> resizings_of(const deployments::DesiredState& state,
                                   const std::vector<ObjectPtr>& current,
                                   const std::vector<ObjectPtr>& pods) {
  const deployments::Deployment& row = state.deployment;
  std::vector<Resizing> all;
  if (row.resized == deployments::Resize::rollout) return all;
  for (const deployments::ProcessSpec& process : deployments::processes_of(row.container))
    for (const ObjectPtr& deployment : current)
      if (manifests::process_of(*deployment) == process.name)
        if (auto found = resizing_of(
                *deployment, pods_of_template(*deployment, pods), manifests::size_of(row, process),
                manifests::replicas_of(process, state), row.status == deployments::Status::pending))
          all.push_back(*std::move(found));
  return all;
}

}  // namespace berth::reconcilers
