#pragma once

#include <optional>
#include <vector>

#include "reconcilers/cluster/store.h"

// Whether a deployment's containers are healthy at this moment: what the kubelet's readiness probes
// last reported; a container without a port is while it runs. The functions are pure; they write
// nothing.
namespace berth::reconcilers {

struct Health {
  bool ready = false;
  Duration age{0};  // the age of the probe that reported it
};

// The probes' periodSeconds in manifests/readiness_*.yaml.
inline constexpr std::chrono::seconds probe_period{2};

// The health of a deployment's pods: that of the process that is worst off, and of a process, that
// of a pod that is ready, if there is one. Nothing if no container has been started. `silence` is
// how long the cluster has not been heard from. A probe whose result changes causes a watch event,
// so as long as the cluster is heard, the newest probe is at most one probe period old.
std::optional<Health> health_of(const std::vector<ObjectPtr>& pods, Instant now, Duration silence);

}  // namespace berth::reconcilers
