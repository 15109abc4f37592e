#pragma once

#include <string_view>

namespace berth::api::console {

// Returns the source of the sample app as the operation that builds images takes it: a compressed
// tar archive with a Containerfile (examples/hello, cmake/sample.cmake).
std::string_view sample();

}  // namespace berth::api::console
