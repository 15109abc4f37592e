#pragma once

#include "reconcilers/simulated/apiserver/types.h"

// What an API server does to an object between reading and storing it, besides refusing it: what it
// would leave out when it writes its typed form, canonical quantities, and defaults
// (k8s.io/kubernetes, pkg/apis/*/v1/defaults.go).
namespace berth::simulated {

// `live` is the object that is replaced, or null. Idempotent.
void set_defaults(const Type& type, const Json& live, Json& object);

}  // namespace berth::simulated
