#pragma once

#include "reconcilers/simulated/apiserver/refusal.h"
#include "reconcilers/simulated/apiserver/types.h"

// Server-side apply and the bookkeeping of metadata.managedFields
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/).
namespace berth::simulated {

enum class Subresource { none, status };
enum class Force { no, yes };

// Somebody who writes to an endpoint.
struct Writer {
  std::string manager;
  Subresource subresource = Subresource::none;
};

// `live` after `config` was applied by `writer`, managedFields included; not yet defaulted. `live`
// is null for an object that doesn't exist. Throws Refusal 409 where another manager owns a field
// that would change and `force` is no, and 500 where `config` isn't of the kind's structure.
Json apply(const Type& type, const Json& live, const Json& config, const Writer& writer,
           Force force);

// Sets the managedFields of `next`, which replaces `live` (null: created) by a plain create or
// update: changed fields belong to `writer` from now on, and to nobody else.
void track_update(const Type& type, const Json& live, Json& next, const Writer& writer);

// Whether both are the same but for the times in managedFields: then nothing is written.
bool same_but_for_times(const Json& a, const Json& b);

}  // namespace berth::simulated
