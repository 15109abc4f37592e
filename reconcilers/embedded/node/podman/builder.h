#pragma once

#include <filesystem>
#include <memory>

#include "reconcilers/embedded/node/builder.h"

namespace berth::embedded::podman {

struct BuilderOptions {
  std::filesystem::path socket;     // of podman's service
  std::filesystem::path directory;  // the data directory's `local`, where podman stores images
};

// Builds by podman's service. A step runs in a user namespace, with a few capabilities that count
// there alone, in a network of builds from which neither the machine nor private addresses are
// reached, with the limits of memory, processors, processes and files. The source and the
// instructions are written anew for podman (containerfile.h); base images are pulled first, since
// podman itself does that on the machine.
//
// The users of a build are those of the machine from 0 on, within the namespace: podman 4.3
// confuses the owners of files if they are others, where the kernel can shift them itself. What a
// step leaves in an image runs as other users later, as all containers do.
std::unique_ptr<Builder> make_builder(const BuilderOptions& options);

}  // namespace berth::embedded::podman
