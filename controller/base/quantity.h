#pragma once

#include <optional>
#include <string_view>

namespace berth {

// The value of an amount as Kubernetes writes it (kubernetes.io, "Quantity"), in its base unit:
// 250m is 0.25, 16Ki is 16384, 1e3 is 1000. Returns nothing if the text isn't a quantity. Different
// texts of the same amount have the same value, so 700m equals 0.7.
std::optional<long double> parse_quantity(std::string_view text);

}  // namespace berth
