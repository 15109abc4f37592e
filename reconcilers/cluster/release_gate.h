#pragma once

#include <string>

#include "reconcilers/cluster/observe.h"

// What is said of a deployment whose rollout hasn't begun, because its release command comes first
// (domain/deployments/runs/releases.h). Pure functions.
namespace berth::reconcilers {

inline constexpr const char* releasing_phase = "releasing";

// The observation while the release command runs. What served before goes on.
deployments::Observation releasing(const deployments::Deployment& row, const Live& live);
// The observation after the release command has failed: the deployment runs as before, or is
// errored if nothing of it serves.
deployments::Observation release_failed(const Live& live, const std::string& message);

}  // namespace berth::reconcilers
