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
  Duration scheduling = std::chrono::seconds(5);    // a node may be about to get free
  Duration listening = std::chrono::seconds(10);    // from the container's start to its open port
  Duration after_crash = std::chrono::seconds(10);  // so long a container has to run after a crash
  Duration creating = std::chrono::seconds(5);      // pods that the quota or admission refuses
};

struct Trouble {
  deployments::Reason reason = deployments::Reason::crash_loop;
  std::string message;  // the cluster's words; the same as long as the trouble is the same
};

// Where a pod is on its way.
struct PodState {
  enum class Step { scheduling, pulling, starting, probing, ready };
  Step step = Step::scheduling;
  std::optional<Trouble> trouble;
  std::optional<Duration> look_again;  // the time alone will make it trouble then
  bool has_started = false;            // the image was pulled and the container was started once
};
std::string_view to_string(PodState::Step step);

// `events` are those whose involvedObject is the pod. `port` and `health_path` are what it should
// answer on.
PodState state_of(const Object& pod, const std::vector<Object>& events,
                  const deployments::Deployment& deployment, const Patience& patience, Instant now);

bool is_ready(const Object& pod);
// Whether it ended for good (evicted, say): its ReplicaSet makes another one.
bool is_over(const Object& pod);
// The status of our container; null before the kubelet knows the pod.
const Object& container_status(const Object& pod);

}  // namespace berth::reconcilers
