#pragma once

#include "reconcilers/embedded/apiserver/types.h"

namespace berth::embedded {

// Removes what the Go types of Kubernetes leave out when they are written (`omitempty`): nulls,
// empty lists, maps and strings, and false and 0 in fields that aren't pointers. For example,
// `readOnly: false` of a volume mount and `value: ""` of a variable don't come back. Makes
// quantities canonical (`0.5` → `500m`, `1024Mi` → `1Gi`).
void to_typed_form(Json& object);

}  // namespace berth::embedded
