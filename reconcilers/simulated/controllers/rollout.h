#pragma once

#include "reconcilers/simulated/apiserver/conditions.h"

namespace berth::simulated {

// How many pods more, and how many available ones fewer, than wanted a rollout may have: from
// spec.strategy.rollingUpdate, percentages resolved (the first rounded up, the second down); at
// least one of them isn't 0.
struct RolloutBounds {
  std::int64_t surge;
  std::int64_t unavailable;
};
RolloutBounds rollout_bounds(const Json& deployment);

// Whether a condition whose status and reason are as before gets another message and time.
enum class Refresh { no, yes };

// Sets a condition of a Deployment or ReplicaSet, with its two times; the one of the last
// transition changes with the status only.
void set_rollout_condition(Json& status, const Condition& condition, Refresh refresh = Refresh::no);
void remove_condition(Json& status, const std::string& type);

}  // namespace berth::simulated
