#pragma once

#include <chrono>
#include <vector>

#include "controller/domain/deployments/metering/meter.h"
#include "reconcilers/cluster/store.h"

// What pods say about the runs of their containers, read by pure functions. A run is one start of a
// container, and its times are the runtime's own, in whole seconds. It is named after its pod and
// its number: UID/RESTARTS.
namespace berth::reconcilers {

// Returns the runs of the deployment's own container that the pod's status names: the one before
// the last, and the last or present one. What was injected into the pod, such as a mesh's proxy,
// isn't the tenant's and isn't returned. Neither are containers that were created but couldn't be
// started, and ends of which the kubelet doesn't know the time.
//
// A pod that is being deleted from a lost node says for hours that its container runs. The run has
// ended with the pod's grace period if its kubelet hasn't said anything else `reported_within`
// later. `now` is by the machine's clock.
inline constexpr std::chrono::minutes reported_within{1};
std::vector<metering::Run> runs_of(const Object& pod, Instant now);

// Whether recording `runs` would add nothing to `recorded`, which was recorded before: each of them
// is known as running or as ended, as it is now, and none that was running is missing.
bool are_recorded(const std::vector<metering::Run>& runs,
                  const std::vector<metering::Run>& recorded);

}  // namespace berth::reconcilers
