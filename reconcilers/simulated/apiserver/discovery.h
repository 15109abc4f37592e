#pragma once

#include <optional>
#include <string>

#include "reconcilers/simulated/apiserver/types.h"

namespace berth::simulated {

// What an API server says about itself: /version, /api, /apis and the resources of each group.
// Nothing where there is no such path.
std::optional<Json> discovery(const std::string& path);

// metrics.k8s.io/v1beta1: PodMetricsList of these pods; each running container uses a little that
// depends on its name alone.
Json pod_metrics(const std::vector<ObjectPtr>& pods);

}  // namespace berth::simulated
