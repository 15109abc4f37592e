#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/domain/deployments/deployments.h"
#include "reconcilers/cluster/fields.h"

// What one pod says about itself, read by pure functions.
namespace berth::reconcilers {

// How long a state that may pass by itself has to last before it counts as trouble. Time alone is
// never enough: a reason also needs something that the cluster has reported and that proves it
// (docs/reference/reasons.md).
struct Patience {
  Duration scheduling = std::chrono::seconds(5);  // a node may be about to have room
  // The time from a container's start until its port is open. A node that took longer than that to
  // start the container is busy; then the port may take as long as the start took, up to
  // `longest_listening`. The probes of a container that was ready may fail for `longest_listening`.
  Duration listening = std::chrono::seconds(10);
  Duration longest_listening = std::chrono::seconds(60);
  // How long a container has to run after a crash to count as recovered.
  Duration after_crash = std::chrono::seconds(10);
  // How long the quota or an admission plugin must have refused the pod.
  Duration creating = std::chrono::seconds(5);
  // How long a kubelet may take to give a running container another size.
  Duration resizing = std::chrono::seconds(30);
  // How long the API server must have failed to take berth's writes. An election of etcd's leader
  // and a restart of the API server take less.
  Duration writing = std::chrono::seconds(10);
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
  std::optional<Duration> look_again;  // when to look again, even if the pod reports nothing new
  bool has_started = false;  // the image was pulled and the container was started at least once
  // Whether it does what it is there for: serves, or runs if it has no port.
  bool is_well() const { return step == Step::ready && !trouble; }
};
constexpr auto texts_of(PodState::Step) {
  return EnumTexts<PodState::Step::ready>{"scheduling", "pulling", "starting", "probing", "ready"};
}

// The deployment's processes, web first, with the memory and CPU that each has.
std::vector<deployments::ProcessSpec> processes_of(const deployments::Deployment& row);

// The state of `pod` at `now`. `events` are those whose involvedObject is the pod. `process` is the
// pod's, of processes_of(row): it says whether there is a port, and what the messages name.
PodState state_of(const Object& pod, const std::vector<Object>& events,
                  const deployments::ProcessSpec& process, const Patience& patience, Instant now);

// Whether the pod's condition Ready is True.
bool is_ready(const Object& pod);
// Whether the pod has ended for good: its node was drained, shut down or low on something, or the
// pod took more than it may. Its ReplicaSet then creates another one.
bool is_over(const Object& pod);
// The status of the deployment's container; null until the kubelet has taken up the pod.
const Object& container_status(const Object& pod);

}  // namespace berth::reconcilers
