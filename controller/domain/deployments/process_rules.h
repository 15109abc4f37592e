#pragma once

#include "controller/base/error.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/tiers.h"

// What the processes, the numbers of containers and the crons of an order have to be, besides what
// the published schema says. Private to this module.
namespace berth::deployments {

// Adds to `wrong` what is wrong with the order by itself, by the paths of its fields, such as
// `processes.worker.port`.
void check_processes(const ContainerSpec& container, Details& wrong);
// Throws validation_failed if the deployment has more or larger containers than the tier allows.
void check_size(const ContainerSpec& container, const tiers::Tier& tier);
// Throws validation_failed for a custom domain of a deployment whose names lead to no process.
void check_is_served(const ContainerSpec& container);

}  // namespace berth::deployments
