#pragma once

#include <string>
#include <vector>

#include "controller/domain/deployments/instances.h"
#include "reconcilers/cluster/cache.h"

namespace berth::reconcilers {

// Returns the deployment's pods as they are in the cache; see instances::Of. Thread-safe.
std::vector<instances::Instance> instances_of(const Cache& cache, const std::string& deployment_id);

}  // namespace berth::reconcilers
