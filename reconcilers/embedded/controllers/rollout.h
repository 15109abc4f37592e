#pragma once

#include "reconcilers/embedded/apiserver/conditions.h"

namespace berth::embedded {

// By how many pods a rollout may exceed the wanted number, and by how many available pods it may
// fall below it. They come from spec.strategy.rollingUpdate; percentages of the first are rounded
// up, of the second down, and at least one of the two isn't 0.
struct RolloutBounds {
  std::int64_t surge;
  std::int64_t unavailable;
};
RolloutBounds rollout_bounds(const Json& deployment);

// Whether a condition gets a new message and time although its status and reason stay the same.
enum class Refresh { no, yes };

// Sets a condition of a Deployment or ReplicaSet, which has two times; lastTransitionTime changes
// only with the status.
void set_rollout_condition(Json& status, const Condition& condition, Refresh refresh = Refresh::no);
void remove_condition(Json& status, const std::string& type);

}  // namespace berth::embedded
