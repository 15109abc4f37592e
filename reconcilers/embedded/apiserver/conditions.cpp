#include "reconcilers/embedded/apiserver/conditions.h"

namespace berth::embedded {

void set_condition(Json& conditions, const Condition& condition) {
  Json next{{"type", condition.type},
            {"status", condition.status},
            {"lastProbeTime", nullptr},
            {"lastTransitionTime", timestamp()}};
  if (!condition.reason.empty()) next["reason"] = condition.reason;
  if (!condition.message.empty()) next["message"] = condition.message;
  if (!conditions.is_array()) conditions = Json::array();
  for (Json& one : conditions) {
    if (text_at(one, "type") != condition.type) continue;
    if (text_at(one, "status") == condition.status)
      next["lastTransitionTime"] = one["lastTransitionTime"];
    one = std::move(next);
    return;
  }
  conditions.push_back(std::move(next));
}

const Json& condition_of(const Json& object, const std::string& type) {
  for (const Json& one : at_path(object, "/status/conditions"))
    if (text_at(one, "type") == type) return one;
  return at_path(object, "/status/no such condition");
}

bool is_true(const Json& object, const std::string& type) {
  return text_at(condition_of(object, type), "status") == "True";
}

}  // namespace berth::embedded
