#pragma once

#include "reconcilers/simulated/apiserver/types.h"

namespace berth::simulated {

// Leaves out what the Go types of Kubernetes leave out when they are written (`omitempty`): nulls,
// empty lists, maps and strings, false and 0 of fields that aren't pointers. So `readOnly: false`
// of a volume mount or `value: ""` of a variable don't come back. Quantities become canonical
// (`0.5` → `500m`, `1024Mi` → `1Gi`).
void to_typed_form(Json& object);

}  // namespace berth::simulated
