#include "reconcilers/cluster/pod_health.h"

#include <algorithm>
#include <map>

#include "manifests/manifests.h"
#include "reconcilers/cluster/pod_trouble.h"

namespace berth::reconcilers {

std::optional<Health> health_of(const std::vector<ObjectPtr>& pods, Instant now, Duration silence) {
  std::map<std::string, std::optional<Health>> processes;
  for (const ObjectPtr& pod : pods) {
    const std::string process = manifests::process_of(*pod);
    if (process.empty() || is_being_deleted(*pod)) continue;
    std::optional<Health>& known = processes[process];
    const auto started = instant_at(container_status(*pod), {"state", "running", "startedAt"});
    if (!started && !is_ready(*pod)) continue;
    if (known && (known->ready || !is_ready(*pod))) continue;
    const Duration running = started ? std::max(now - *started, Duration(0)) : Duration(0);
    known = Health{.ready = is_ready(*pod), .age = std::max(running % probe_period, silence)};
  }
  std::optional<Health> worst;
  bool is_missing = false;  // a process of which no container has been started
  for (const auto& [process, health] : processes) {
    is_missing = is_missing || !health;
    if (health && (!worst || !health->ready)) worst = health;
  }
  if (worst && is_missing) worst->ready = false;
  return worst;
}

}  // namespace berth::reconcilers
