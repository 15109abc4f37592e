#pragma once

#include <optional>
#include <string>

#include "reconcilers/embedded/apiserver/types.h"

namespace berth::embedded {

// What an API server says about itself: /version, /api, /apis and the resources of each group.
// Returns nothing if there is no such path.
std::optional<Json> discovery(const std::string& path);

// A PodMetricsList (metrics.k8s.io/v1beta1) of these pods. Each running container uses a small
// amount that depends only on its name.
Json pod_metrics(const std::vector<Json>& pods);

}  // namespace berth::embedded
