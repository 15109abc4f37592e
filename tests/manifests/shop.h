#pragma once

#include "controller/domain/deployments/deployments.h"

namespace berth::test {

// A deployment with the memory and CPU of a small tier.
inline deployments::DesiredState shop() {
  deployments::DesiredState state;
  state.deployment.id = "0190aaaa-0000-7000-8000-000000000001";
  state.deployment.app_id = "0190bbbb-0000-7000-8000-000000000002";
  state.deployment.name = "shop";
  state.deployment.container.image = "ghcr.io/acme/shop:1";
  state.deployment.container.port = 3000;
  state.deployment.memory_limit_mb = 512;
  state.deployment.cpu_limit_millicores = 500;
  return state;
}

// The size of an app with one deployment of one container.
inline deployments::AppSize size_of_one(int memory_mb, int cpu_millicores) {
  return {.deployments = 1,
          .containers = 1,
          .memory_mb = memory_mb,
          .cpu_millicores = cpu_millicores,
          .largest_memory_mb = memory_mb,
          .largest_cpu_millicores = cpu_millicores};
}

}  // namespace berth::test
