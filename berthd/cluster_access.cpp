#include "berthd/cluster_access.h"

#include "berthd/exit_codes.h"

namespace berth {

kube::Kubeconfig cluster_access(const Config& config) {
  try {
    if (config.kubernetes == Cluster::in_cluster) return kube::in_cluster_config();
    if (config.kubeconfig) return kube::load_kubeconfig(*config.kubeconfig, config.context);
    return kube::load_kubeconfig(kube::default_kubeconfig_paths(), config.context);
  } catch (const std::runtime_error& failure) {
    throw StartError(exit_cluster_access, std::string("kubernetes: ") + failure.what());
  }
}

}  // namespace berth
