#pragma once

#include <optional>
#include <string_view>

namespace berth::reconcilers {

// The value of an amount as the API server writes it (kubernetes.io, "Quantity"), in its base unit:
// `250m` is 0.25, `1234567n` is 0.001234567, `16Ki` is 16384. Nothing if the text isn't a quantity.
std::optional<double> quantity(std::string_view text);

}  // namespace berth::reconcilers
