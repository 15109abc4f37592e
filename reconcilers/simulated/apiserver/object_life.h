#pragma once

#include <string>

#include "reconcilers/simulated/apiserver/store.h"

namespace berth::simulated {

// The key of an object of that type; cluster-scoped ones have no namespace.
inline Key key_of(const Type& type, const std::string& name_space, const std::string& name) {
  return {type.id, type.namespaced() ? name_space : "", name};
}

// Whether something wants to do work before the object goes.
inline bool has_finalizers(const Json& object) {
  return !at_path(object, "/metadata/finalizers").empty();
}

// Whether the object is on its way out.
inline bool terminating(const Json& object) {
  return !at_path(object, "/metadata/deletionTimestamp").is_null();
}

}  // namespace berth::simulated
