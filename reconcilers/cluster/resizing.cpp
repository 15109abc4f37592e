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

// Whether the kubelet has given a pod's container what the spec names by now. One that doesn't run
// gets it when it starts. A kubelet that doesn't say what its containers have (before 1.33) can't
// change it; `is_back` says that the container is to have what it was made with, so that such a one
// has it.
bool has_been_given(const Object& pod, const ContainerSize& wanted, bool is_back) {
  const Object& status = container_status(pod);
  const auto observed = number_at(pod, {"status", "observedGeneration"});
  if (observed > 0 && observed < number_at(pod, {"metadata", "generation"})) return false;
  if (!field(status, {"state", "running"}).is_object()) return true;
  const auto size = manifests::size_in(status);
  return size ? size == wanted : is_back;
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

std::optional<Resizing> resizing_of(const deployments::Deployment& row, const Object& deployment,
                                    const std::vector<ObjectPtr>& pods, const ContainerSize& wanted,
                                    int replicas) {
  const auto in_template = size_in_spec(field(deployment, {"spec", "template", "spec"}));
  if (!in_template || is_being_deleted(deployment) || pods.empty() || replicas == 0)
    return std::nullopt;
  const bool template_fits = *in_template == wanted;
  // Pods of a template that fits were only changed by berth if the template is the one from before
  // an earlier change, which is undone now. What else differs, and what somebody else has changed,
  // isn't touched.
  if (template_fits && !row.resized && row.status != deployments::Status::deploying)
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
    } else if ((!template_fits || row.resized) && !has_been_given(*pod, wanted, template_fits)) {
      found.is_under_way = true;
      if (found.refusal.empty()) found.refusal = refusal_of(*pod);
    }
  }
  if (template_fits && !found.is_under_way) return std::nullopt;
  if (!any_can_serve) {
    if (!template_fits) return std::nullopt;
    // Applying the template would change nothing.
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
        if (auto found = resizing_of(row, *deployment, pods_of_template(*deployment, pods),
                                     manifests::size_of(row, process),
                                     manifests::replicas_of(process, state)))
          all.push_back(*std::move(found));
  return all;
}

}  // namespace berth::reconcilers
