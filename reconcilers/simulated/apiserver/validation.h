#pragma once

#include "reconcilers/simulated/apiserver/refusal.h"
#include "reconcilers/simulated/apiserver/types.h"

// What an API server checks of the kinds that berth writes (k8s.io/kubernetes,
// pkg/apis/*/validation): the basics, worded as there.
namespace berth::simulated {

// `object` is defaulted; `live` is what it replaces, or null. Throws Refusal 422 with every cause.
void validate(const Type& type, const Json& live, const Json& object);

}  // namespace berth::simulated
