#pragma once

#include <optional>
#include <vector>

#include "reconcilers/cluster/store.h"

// Whether a deployment's container is healthy at this moment: what the kubelet's readiness probe
// last said, without a write anywhere. Pure.
namespace berth::reconcilers {

struct Health {
  bool ready = false;
  Duration age{0};  // of the probe that says so
};

// periodSeconds of the probes, manifests/readiness_*.yaml.
inline constexpr std::chrono::seconds probe_period{2};

// Of a deployment's pods, a ready one's before the others'; nothing where no container was started.
// A probe that said something else would have come as an event, so while the cluster is heard the
// newest one is as old as the kubelet's rhythm makes it; `silence` is how long it isn't heard.
std::optional<Health> health_of(const std::vector<ObjectPtr>& pods, Instant now, Duration silence);

}  // namespace berth::reconcilers
