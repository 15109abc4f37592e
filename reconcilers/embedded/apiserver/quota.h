#pragma once

#include "reconcilers/embedded/apiserver/store.h"

// ResourceQuota (https://kubernetes.io/docs/concepts/policy/resource-quotas/). Scopes are ignored:
// every quota counts everything in its namespace.
namespace berth::embedded {

// The status of a quota: what its namespace uses of each resource in spec.hard.
Json quota_status(const Store& store, const Json& quota);

// Throws Refusal 403 if a quota of the namespace has no room for the new object, or counts a
// resource that one of the pod's containers doesn't state. With `before`, the object is there, and
// only what it adds counts.
void check_quotas(const Store& store, const Type& type, const Json& object,
                  const Json* before = nullptr);

}  // namespace berth::embedded
