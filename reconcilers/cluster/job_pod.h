#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/runs/runs.h"
#include "reconcilers/cluster/cache.h"
#include "reconcilers/cluster/pod_trouble.h"

// What a run's Job and its pod say of the run, read by pure functions.
namespace berth::reconcilers {

// How long a run may wait until its container starts, for room on a node or in the quota. A run
// that waits for longer has failed.
inline constexpr std::chrono::minutes longest_start{10};
// For how long the kubelet may try to pull the image of a run anew, which takes it some four
// attempts, unless the registry has refused it for good.
inline constexpr std::chrono::minutes pull_tried_for{2};
// How much longer than its timeout a container may run before berthd ends it, because its node
// doesn't.
inline constexpr std::chrono::minutes late_end{2};

// Whether the pod or Job belongs to a run. Such pods aren't the deployment's own containers.
bool is_of_run(const Object& object);
// The deployment's own pods, without those of its runs.
std::vector<ObjectPtr> containers_of(const Cache& cache, const std::string& deployment_id);

struct JobState {
  runs::Seen seen;
  // If nothing has ended: when time alone may change what is seen.
  std::optional<Duration> look_again;
};
// The state of a run whose Job is on the cluster. `pod` is null if there is none; `events` are
// those of the pod, or of the Job if there is no pod.
JobState state_of_job(const runs::Run& run, const Object& job, const Object& pod,
                      const std::vector<Object>& events, const Patience& patience, Instant now);

// Whether state_of_job() needs events.
bool has_questions(const Object& job, const Object& pod);

}  // namespace berth::reconcilers
