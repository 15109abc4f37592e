#pragma once

#include "reconcilers/cluster/fields.h"

// Who owns the fields of an object that berth has created rather than applied. The API server notes
// a create as an `Update` by berth, whose fields no later apply takes away; before the first apply
// they therefore become fields of berth's applies, as client-go does it (util/csaupgrade) when
// somebody changes to server-side apply (kubernetes.io, "Server-Side Apply").
namespace berth::reconcilers {

// Whether berth owns fields of `live` (an object from the API server or from a Store) by a create.
bool is_owned_by_create(const Object& live);

// Returns the managed fields of `live`, a whole object from the API server, with those that berth
// owns by a create added to those that it owns by applies. All others stay as they are.
Object owned_by_apply(const Object& live);

}  // namespace berth::reconcilers
