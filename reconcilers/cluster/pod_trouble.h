#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/domain/deployments/deployments.h"
#include "reconcilers/cluster/fields.h"

// What one pod says about itself. Pure.
namespace berth::reconcilers {

// How long a state that may pass by itself has to last before it counts as trouble.
struct Patience {
  Duration scheduling = std::chrono::seconds(5);  // a node may be about to have room
  Duration listening = std::chrono::seconds(10);  // from the container's start to its open port
  // How long a container has to run after a crash to count as recovered.
  Duration after_crash = std::chrono::seconds(10);
  // For pods that the quota or an admission plugin refuses.
  Duration creating = std::chrono::seconds(5);
};

struct Trouble {
  deployments::Reason reason = deployments::Reason::crash_loop;
  std::string message;  // in the cluster's words; stays the same while the trouble does
};

// How far a pod has come.
struct PodState {
  enum class Step { scheduling, pulling, starting, probing, ready };
  Step step = Step::scheduling;
  std::optional<Trouble> trouble;
  std::optional<Duration> look_again;  // time alone will turn this into trouble after this long
  bool has_started = false;  // the image was pulled and the container was started at least once
};
std::string_view to_string(PodState::Step step);

// The state of `pod` at `now`. `events` are those whose involvedObject is the pod. `deployment`
// gives the port and the health path that the pod should answer on, for the messages.
PodState state_of(const Object& pod, const std::vector<Object>& events,
                  const deployments::Deployment& deployment, const Patience& patience, Instant now);

// Whether the pod's condition Ready is True.
bool is_ready(const Object& pod);
// Whether the pod has ended for good, for example because it was evicted; its ReplicaSet then
// creates another one.
bool is_over(const Object& pod);
// The status of our container; null until the kubelet has taken up the pod.
const Object& container_status(const Object& pod);

}  // namespace berth::reconcilers
