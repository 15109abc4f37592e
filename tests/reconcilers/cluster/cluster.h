#pragma once

#include <cstdlib>
#include <memory>

#include "reconcilers/embedded/cluster.h"
#include "reconcilers/kube/kubeconfig.h"

namespace berth::reconcilers::test {

inline kube::Kubeconfig config_of(const embedded::Cluster& cluster) {
  kube::Kubeconfig config;
  config.server = cluster.url();
  return config;
}

inline embedded::Options quick() {
  embedded::Options options;
  options.timing = embedded::Timing::instant();
  return options;
}

// The cluster of BERTH_TEST_KUBECONFIG, whose nodes run pods, or a simulated one. What tests check
// with it holds for both.
class TestCluster {
 public:
  TestCluster() {
    if (!file()) simulated_ = std::make_unique<embedded::Cluster>(quick());
  }
  kube::Kubeconfig config() const {
    return simulated_ ? config_of(*simulated_) : kube::load_kubeconfig(file());
  }
  static bool is_real() { return file() != nullptr; }

 private:
  static const char* file() { return std::getenv("BERTH_TEST_KUBECONFIG"); }
  std::unique_ptr<embedded::Cluster> simulated_;
};

}  // namespace berth::reconcilers::test
