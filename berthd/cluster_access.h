#pragma once

#include "berthd/config.h"
#include "reconcilers/kube/kubeconfig.h"

namespace berth {

// Returns how to reach the cluster of the configuration: with the pod's own ServiceAccount if
// `kubernetes` is in-cluster, otherwise as the kubeconfig says. Throws StartError with
// exit_cluster_access if that isn't possible.
kube::Kubeconfig cluster_access(const Config& config);

}  // namespace berth
