#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/embedded/apiserver/types.h"
#include "reconcilers/embedded/node/runtime.h"

namespace berth::embedded {

// What an API server says about itself: /version, /api, /apis and the resources of each group.
// Returns nothing if there is no such path.
std::optional<Json> discovery(const std::string& path);

// What a container of a pod uses; nothing if it doesn't run or hasn't been measured.
using UsageOf = std::function<std::optional<Usage>(const Json& pod, const Json& container)>;

// A PodMetricsList (metrics.k8s.io/v1beta1) of those of these pods that have been measured.
Json pod_metrics(const std::vector<Json>& pods, const UsageOf& usage_of);

}  // namespace berth::embedded
