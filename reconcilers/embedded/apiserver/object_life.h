#pragma once

#include <string>

#include "reconcilers/embedded/apiserver/store.h"

namespace berth::embedded {

// The key of an object of this type; cluster-scoped types have no namespace.
inline Key key_of(const Type& type, const std::string& name_space, const std::string& name) {
  return {type.id, type.namespaced() ? name_space : "", name};
}

// Whether the object has finalizers, so that some controller still has work to do before it is
// deleted.
inline bool has_finalizers(const Json& object) {
  return !at_path(object, "/metadata/finalizers").empty();
}

// Whether the object is being deleted.
inline bool terminating(const Json& object) {
  return !at_path(object, "/metadata/deletionTimestamp").is_null();
}

}  // namespace berth::embedded
