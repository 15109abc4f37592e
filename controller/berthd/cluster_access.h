#pragma once

#include "controller/berthd/config.h"
#include "reconcilers/kube/kubeconfig.h"

namespace berth {

// How to reach the cluster of the configuration; a kubeconfig's unless `kubernetes` is in-cluster.
// Throws StartError with exit_cluster_access.
kube::Kubeconfig cluster_access(const Config& config);

}  // namespace berth
