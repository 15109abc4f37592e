#pragma once

#include "reconcilers/embedded/apiserver/refusal.h"
#include "reconcilers/embedded/apiserver/types.h"

// The basic checks that an API server makes of the kinds that berth writes, in the words of
// k8s.io/kubernetes, pkg/apis/*/validation.
namespace berth::embedded {

// `object` has its defaults; `live` is the object that it replaces, or null. Throws Refusal 422
// with all causes.
void validate(const Type& type, const Json& live, const Json& object);

}  // namespace berth::embedded
