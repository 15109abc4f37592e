#pragma once

#include "berthd/config.h"

// The commands about this machine as the node of `kubernetes: local`.
namespace berth::local {

// `berthd doctor --local`: whether this machine can run containers and serve them. Starts nothing.
// Prints what it finds and returns the exit code: 1 if something has failed.
int examine(const Config& config);

// `berthd local push PLACE`: pushes the images that were built on this machine, as far as
// deployments want them, to PLACE (`registry.example.org/path`), and has the deployments want
// those. Prints a line for each. Returns the exit code. Throws DataDirError while berthd runs,
// ConfigError if PLACE isn't one, and StartError if an image can't be pushed; those before it are
// done.
int push(const Config& config, const std::string& place);

// `berthd local clean`: ends and removes everything that berthd keeps about containers on this
// machine: containers, networks, images, podman's service, and Caddy. The database stays, so that
// berthd makes all of it again when it is started. Returns the exit code. Throws DataDirError while
// berthd runs containers here, or if it did as another user, and std::runtime_error with what is
// left over.
int clean(const Config& config);

}  // namespace berth::local
