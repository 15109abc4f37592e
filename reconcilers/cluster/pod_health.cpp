#include "reconcilers/cluster/pod_health.h"

#include <algorithm>

#include "reconcilers/cluster/pod_trouble.h"

namespace berth::reconcilers {

std::optional<Health> health_of(const std::vector<ObjectPtr>& pods, Instant now, Duration silence) {
  std::optional<Health> health;
  for (const ObjectPtr& pod : pods) {
    const auto started = instant_at(container_status(*pod), {"state", "running", "startedAt"});
    if (is_being_deleted(*pod) || (!started && !is_ready(*pod))) continue;
    if (health && !is_ready(*pod)) continue;
    const Duration running = started ? std::max(now - *started, Duration(0)) : Duration(0);
    health = Health{.ready = is_ready(*pod), .age = std::max(running % probe_period, silence)};
    if (health->ready) break;
  }
  return health;
}

}  // namespace berth::reconcilers
