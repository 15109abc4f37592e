#pragma once

#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"
#include "reconcilers/cluster/store.h"

// Containers that get another amount of memory or CPU while they run, read by pure functions
// (docs/decisions/deployments.md, "Another size comes to running containers").
//
// The pods get it by their subresource `resize`, and the Deployment's template stays as it is until
// the next rollout: another template makes another ReplicaSet, which replaces every pod. Pods that
// the ReplicaSet makes meanwhile have the template's size, and are changed as soon as berth sees
// them, which mostly is before their container starts.
namespace berth::reconcilers {

// What is to be done for a process whose template keeps its size.
struct Resizing {
  std::string process;
  deployments::ContainerSize wanted;
  deployments::ContainerSize in_template;
  std::vector<ObjectPtr> pods;  // those that haven't been given the wanted size yet
  bool is_under_way = false;    // a kubelet hasn't told yet that a container has it
  std::string refusal;          // why it can't be done, in the cluster's words; empty if it can
};

// Returns the processes of the deployment whose containers get, or have got, another size in place.
// `current` are the Deployments on the cluster, and `pods` their pods. A process isn't returned, so
// that its template may change and its containers are replaced,
// - if the change was begun as a rollout (Resize::rollout),
// - if none of its containers is ready: another size may be what they need to start,
// - if its template is larger than what is wanted, and a pod of it is missing: the LimitRange of
//   the app lets no pod of that size be made any more.
std::vector<Resizing> resizings_of(const deployments::DesiredState& state,
                                   const std::vector<ObjectPtr>& current,
                                   const std::vector<ObjectPtr>& pods);

}  // namespace berth::reconcilers
