#pragma once

#include <stdexcept>

#include "reconcilers/embedded/apiserver/field_set.h"
#include "reconcilers/embedded/apiserver/types.h"

// The pure part of server-side apply, corresponding to structured-merge-diff on typed values. A
// table of the kinds that are served here says which lists are maps by key, sets or atomic, after
// x-kubernetes-list-type, -list-map-keys and -map-type in Kubernetes' OpenAPI document.
namespace berth::embedded {

// A list has two items with the same key, or an item without a key.
struct MergeError : std::runtime_error {
  MergeError(const std::string& field_path, const std::string& what_is_wrong)
      : std::runtime_error(field_path + ": " + what_is_wrong),
        path(field_path),
        problem(what_is_wrong) {}
  std::string path;  // `.spec.containers[name="web"].env`
  std::string problem;
};

// The fields that an applied configuration sets. Throws MergeError.
FieldSet fields_of(const Json& config);

// `live` with everything that `config` sets; fields that `config` doesn't mention stay. Throws
// MergeError.
Json merge(const Json& live, const Json& config);

// Applies a strategic merge patch; its directives (`$patch` and others) aren't supported. Lists
// that are maps by key are merged, and a null removes a field. Throws MergeError.
Json strategic_merge(const Json& live, const Json& patch);

// `object` without the members of `fields` and what is below them. Objects and lists that become
// empty are replaced by null: if somebody owns them, they stay.
Json without(const Json& object, const FieldSet& fields);

// Removes the nulls that without() leaves behind.
void drop_nulls(Json& object);

// How two values differ. If a value is null in `after`, its contents count as removed but the value
// itself doesn't.
struct Comparison {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
};
Comparison compare(const Json& before, const Json& after);

}  // namespace berth::embedded
