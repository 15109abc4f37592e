#pragma once

#include <memory>

#include "controller/domain/deployments/exec.h"
#include "reconcilers/cluster/exec.h"
#include "reconcilers/embedded/cluster.h"

namespace berth {

// Sessions in the containers of a cluster within this process, by its node's runtime: see
// exec::Open, whose choice of the container has been made. The cluster has to outlive the session.
std::unique_ptr<exec::Session> open_embedded(embedded::Cluster& cluster,
                                             const reconcilers::RunningContainer& container,
                                             const exec::Wanted& wanted);

}  // namespace berth
