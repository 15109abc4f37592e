#include "reconcilers/embedded/controllers/rollout.h"

#include <algorithm>

#include "controller/base/text.h"

namespace berth::embedded {
namespace {

enum class Round { up, down };

std::int64_t resolved(const Json& value, std::int64_t replicas, Round round) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  if (!text.ends_with('%')) return 0;
  const auto percent = static_cast<std::int64_t>(
      parse_number<std::uint64_t>(std::string_view(text).substr(0, text.size() - 1)).value_or(0));
  return (replicas * percent + (round == Round::up ? 99 : 0)) / 100;
}

const Json* find(const Json& conditions, const std::string& type) {
  for (const Json& one : conditions)
    if (text_at(one, "type") == type) return &one;
  return nullptr;
}

}  // namespace

RolloutBounds rollout_bounds(const Json& deployment) {
  if (text_at(at_path(deployment, "/spec/strategy"), "type") == "Recreate") return {0, 0};
  const std::int64_t replicas = number_at(deployment, "/spec/replicas", 1);
  const Json& rolling = at_path(deployment, "/spec/strategy/rollingUpdate");
  RolloutBounds bounds{resolved(at_path(rolling, "/maxSurge"), replicas, Round::up),
                       resolved(at_path(rolling, "/maxUnavailable"), replicas, Round::down)};
  if (bounds.surge == 0 && bounds.unavailable == 0) bounds.unavailable = 1;
  bounds.unavailable = std::min(bounds.unavailable, replicas);
  return bounds;
}

void set_rollout_condition(Json& status, const Condition& condition, Refresh refresh) {
  const Json* present = find(status["conditions"], condition.type);
  const bool same_status = present && text_at(*present, "status") == condition.status;
  if (same_status && text_at(*present, "reason") == condition.reason && refresh == Refresh::no)
    return;
  const std::string now = timestamp();
  Json next{{"type", condition.type},
            {"status", condition.status},
            {"reason", condition.reason},
            {"message", condition.message},
            {"lastUpdateTime", now},
            {"lastTransitionTime", same_status ? text_at(*present, "lastTransitionTime") : now}};
  remove_condition(status, condition.type);
  status["conditions"].push_back(std::move(next));
}

void remove_condition(Json& status, const std::string& type) {
  if (!status.contains("conditions")) return;
  Json& conditions = status["conditions"];
  if (!conditions.is_array()) return;
  for (auto at = conditions.begin(); at != conditions.end();)
    at = text_at(*at, "type") == type ? conditions.erase(at) : std::next(at);
}

}  // namespace berth::embedded
