#pragma once

#include <map>

#include "reconcilers/simulated/apiserver/quantity.h"
#include "reconcilers/simulated/apiserver/store.h"

// ResourceQuota (https://kubernetes.io/docs/concepts/policy/resource-quotas/). Scopes are not
// looked at: every quota counts everything in its namespace.
namespace berth::simulated {

using Amounts = std::map<std::string, Quantity>;

// What a quota counts of one object: `pods`, `requests.cpu`, `limits.memory`, `secrets`,
// `count/deployments.apps`, …
Amounts charges(const Type& type, const Json& object);

// What the namespace uses of each resource in the quota's spec.hard, as its status has it.
Json quota_status(const Store& store, const Json& quota);

// Throws Refusal 403 where a quota of the namespace has no room for the new object, or counts
// something that a container doesn't state.
void check_quotas(const Store& store, const Type& type, const Json& object);

}  // namespace berth::simulated
