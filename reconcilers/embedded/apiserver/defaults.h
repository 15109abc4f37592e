#pragma once

#include "reconcilers/embedded/apiserver/types.h"

// What an API server does to an object between decoding and storing it, apart from validation: it
// drops what its typed form doesn't write, makes quantities canonical, and fills in defaults
// (k8s.io/kubernetes, pkg/apis/*/v1/defaults.go).
namespace berth::embedded {

// `live` is the object that is replaced, or null. Calling this twice has no further effect.
void set_defaults(const Type& type, const Json& live, Json& object);

}  // namespace berth::embedded
