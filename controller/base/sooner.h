#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>

namespace berth {

// Returns the smaller one of two times or durations; the one that is set if the other isn't.
template <typename Time>
std::optional<Time> sooner(const std::optional<Time>& a,
                           const std::type_identity_t<std::optional<Time>>& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace berth
