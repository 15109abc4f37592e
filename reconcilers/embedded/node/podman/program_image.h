#pragma once

#include <string>

#include "reconcilers/embedded/node/podman/runtime.h"

namespace berth::embedded::podman {

// Returns the name of an image that has nothing but the program that calls this and the libraries
// that it has loaded, and whose entry point is the program: what the isolation probe's containers
// run, without a registry. Makes the image unless podman has it, which takes seconds, and removes
// that of an earlier version of the program. Neither a registry nor a build can give an image this
// name. podman's service has to run. Throws std::runtime_error and UnixHttpError.
std::string program_image(const RuntimeOptions& options);

}  // namespace berth::embedded::podman
