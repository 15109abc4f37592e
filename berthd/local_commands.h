#pragma once

#include "berthd/config.h"

// The commands about this machine as the node of `kubernetes: local`.
namespace berth::local {

// `berthd doctor --local`: whether this machine can run containers and serve them. Starts nothing.
// Prints what it finds and returns the exit code: 1 if something has failed.
int examine(const Config& config);

// `berthd local clean`: ends and removes everything that berthd keeps about containers on this
// machine: containers, networks, images, podman's service, and Caddy. The database stays, so that
// berthd makes all of it again when it is started. Returns the exit code. Throws DataDirError while
// berthd runs, and std::runtime_error with what is left over.
int clean(const Config& config);

}  // namespace berth::local
