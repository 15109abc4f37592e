#include "reconcilers/cluster/scale_decision.h"

#include <algorithm>
#include <cmath>

namespace berth::reconcilers {

int containers_for(double in_flight, const deployments::Scale& scale) {
  const int most = std::max(scale.min, scale.max);
  if (!(in_flight > 0)) return scale.min;
  const double wanted = std::ceil(in_flight / std::max(1, scale.in_flight));
  return wanted >= most ? most : std::max(scale.min, int(wanted));
}

int next_containers(const deployments::Scale& scale, int present, double in_flight,
                    std::optional<double> greatest) {
  const int most = std::max(scale.min, scale.max);
  const int now = std::clamp(present, scale.min, most);
  const int needed = containers_for(in_flight, scale);
  if (needed >= now || !greatest) return std::max(now, needed);
  return std::min(now, std::max(needed, containers_for(*greatest, scale)));
}

void QuietTime::add(LoadTime now, double in_flight,
                    std::chrono::steady_clock::duration quiet_time) {
  if (!begin_ || now - last_ > longest_gap) {
    begin_ = now;
    looks_.clear();
  }
  last_ = now;
  while (!looks_.empty() && looks_.back().in_flight <= in_flight) looks_.pop_back();
  looks_.push_back({.at = now, .in_flight = in_flight});
  while (now - looks_.front().at > quiet_time) looks_.pop_front();
}

std::optional<double> QuietTime::greatest(LoadTime now,
                                          std::chrono::steady_clock::duration quiet_time) const {
  if (!begin_ || now - *begin_ < quiet_time || looks_.empty()) return std::nullopt;
  return looks_.front().in_flight;
}

}  // namespace berth::reconcilers
