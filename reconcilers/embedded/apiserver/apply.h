#pragma once

#include "reconcilers/embedded/apiserver/refusal.h"
#include "reconcilers/embedded/apiserver/types.h"

// Server-side apply and the bookkeeping of metadata.managedFields
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/).
namespace berth::embedded {

enum class Subresource { none, status };
enum class Force { no, yes };

// Who writes, and to which endpoint of the object.
struct Writer {
  std::string manager;
  Subresource subresource = Subresource::none;
};

// Returns the object that results when `writer` applies `config` to `live`, with its managedFields
// but before defaulting. `live` is null for an object that doesn't exist. Throws Refusal 409 if
// another manager owns a field that would change and `force` is `no`, and 500 if `config` doesn't
// have the structure of the kind.
Json apply(const Type& type, const Json& live, const Json& config, const Writer& writer,
           Force force);

// Sets the managedFields of `next`, which replaces `live` (null if it is created) by a plain create
// or update: `writer` becomes the only owner of the fields that changed.
void track_update(const Type& type, const Json& live, Json& next, const Writer& writer);

// Whether the objects are equal apart from the times in managedFields. If so, nothing is written.
bool same_but_for_times(const Json& a, const Json& b);

}  // namespace berth::embedded
