#include "controller/base/container_spec.h"

namespace berth::deployments {
namespace {

ProcessSpec web_of(const ContainerSpec& container) {
  return {.name = web_process,
          .command = container.command,
          .args = container.args,
          .port = container.port,
          .health_path = container.health_path,
          .replicas = container.replicas,
          .scale = container.scale,
          .memory_mb = {},
          .cpu_millicores = {}};
}

ProcessSpec resolved(const std::string& name, const Process& process,
                     const ContainerSpec& container) {
  ProcessSpec spec = {.name = name,
                      .command = {},
                      .args = {},
                      .port = {},
                      .health_path = {},
                      .replicas = 1,
                      .scale = {},
                      .memory_mb = process.memory_mb,
                      .cpu_millicores = process.cpu_millicores};
  if (name == web_process) spec = web_of(container);
  spec.memory_mb = process.memory_mb;
  spec.cpu_millicores = process.cpu_millicores;
  if (process.command) spec.command = *process.command;
  if (process.args) spec.args = *process.args;
  if (process.names_port) spec.port = process.port;
  if (process.replicas) {
    spec.replicas = *process.replicas;
    spec.scale.reset();
  }
  if (process.scale) spec.scale = process.scale;
  if (!spec.port) spec.health_path.clear();
  return spec;
}

}  // namespace

std::vector<ProcessSpec> processes_of(const ContainerSpec& container) {
  if (container.processes.empty()) return {web_of(container)};
  std::vector<ProcessSpec> all;
  for (const auto& [name, process] : container.processes)
    all.push_back(resolved(name, process, container));
  std::ranges::stable_partition(all,
                                [](const ProcessSpec& each) { return each.name == web_process; });
  return all;
}

bool is_served(const ContainerSpec& container) {
  return std::ranges::any_of(processes_of(container),
                             [](const ProcessSpec& each) { return each.port.has_value(); });
}

int most_replicas(const ContainerSpec& container) {
  int sum = 0;
  for (const ProcessSpec& process : processes_of(container)) sum += process.most_replicas();
  return sum;
}

}  // namespace berth::deployments
