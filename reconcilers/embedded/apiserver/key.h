#pragma once

#include <compare>
#include <string>

#include "reconcilers/embedded/apiserver/types.h"

namespace berth::embedded {

// The place of an object.
struct Key {
  Kind kind;
  std::string name_space;  // empty for cluster-scoped kinds
  std::string name;
  auto operator<=>(const Key&) const = default;
};

}  // namespace berth::embedded
