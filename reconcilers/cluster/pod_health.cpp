#include "reconcilers/cluster/pod_health.h"

#include <algorithm>
#include <map>

#include "manifests/manifests.h"
#include "reconcilers/cluster/pod_trouble.h"

namespace berth::reconcilers {

std::optional<Health> health_of(const std::vector<ObjectPtr>& pods, Instant now, Duration silence) {
  std::map<std::string, Health> processes;
  for (const ObjectPtr& pod : pods) {
    const auto started = instant_at(container_status(*pod), {"state", "running", "startedAt"});
    if (is_being_deleted(*pod) || (!started && !is_ready(*pod))) continue;
    const std::string process = manifests::process_of(*pod);
    const auto known = processes.find(process);
    if (process.empty()) continue;  // a run's
    if (known != processes.end() && (known->second.ready || !is_ready(*pod))) continue;
    const Duration running = started ? std::max(now - *started, Duration(0)) : Duration(0);
    processes[process] = {.ready = is_ready(*pod),
                          .age = std::max(running % probe_period, silence)};
  }
  if (processes.empty()) return std::nullopt;
  return std::ranges::min_element(processes, {}, [](const auto& one) { return one.second.ready; })
      ->second;
}

}  // namespace berth::reconcilers
