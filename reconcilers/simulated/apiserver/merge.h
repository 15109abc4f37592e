#pragma once

#include <stdexcept>

#include "reconcilers/simulated/apiserver/field_set.h"
#include "reconcilers/simulated/apiserver/types.h"

// The pure part of server-side apply: what structured-merge-diff does with typed values. Which
// lists are maps by key, sets or atomic comes from a table of the kinds that are served here, after
// the x-kubernetes-list-type, -list-map-keys and -map-type of Kubernetes' OpenAPI description.
namespace berth::simulated {

// A list with two items of the same key, or an item without it.
struct MergeError : std::runtime_error {
  MergeError(const std::string& field_path, const std::string& what_is_wrong)
      : std::runtime_error(field_path + ": " + what_is_wrong),
        path(field_path),
        problem(what_is_wrong) {}
  std::string path;  // `.spec.containers[name="web"].env`
  std::string problem;
};

// The fields that an applied configuration speaks of. Throws MergeError.
FieldSet fields_of(const Json& config);

// `live` with everything that `config` says; what it doesn't mention stays. Throws MergeError.
Json merge(const Json& live, const Json& config);

// A strategic merge patch, without its directives (`$patch`, …): lists that are maps by key are
// merged, a null removes. Throws MergeError.
Json strategic_merge(const Json& live, const Json& patch);

// `object` without the members of `fields` and what is below them. Objects and lists that become
// empty by that are null: their owners, if they have any, keep them.
Json without(const Json& object, const FieldSet& fields);

// Removes the nulls that without() leaves.
void drop_nulls(Json& object);

// A null afterwards is a value of which only the content was removed.
struct Comparison {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
};
Comparison compare(const Json& before, const Json& after);

}  // namespace berth::simulated
