#pragma once

#include <optional>
#include <string_view>

namespace berth::reconcilers {

// An amount as the API server writes it (kubernetes.io, "Quantity"), in its base unit: `250m` is
// 0.25, `1234567n` 0.001234567, `16Ki` 16384. Nothing where the text isn't one.
std::optional<double> quantity(std::string_view text);

}  // namespace berth::reconcilers
