#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "reconcilers/embedded/node/runtime.h"

// The node whose containers really run, by podman.
namespace berth::embedded::podman {

struct RuntimeOptions {
  // The data directory's `local`, which is made if it isn't there. Everything that is kept about
  // containers is below it.
  std::filesystem::path directory;
  // Where the ingress listens on all of the machine's addresses. Containers reach these ports at
  // the machine's public addresses, and no others of the machine.
  std::vector<int> public_ports = {80, 443};
  // podman's service is started again if a call has had no answer for this long and it does
  // nothing.
  std::chrono::milliseconds stuck_after = std::chrono::seconds(30);
  // Whether the registry of the image refuses it because too many were pulled. podman itself tries
  // that again and again for minutes, and doesn't tell. May take some seconds; must not throw. Not
  // asked if it is empty.
  std::function<bool(const std::string& image, const RegistryLogin* login)> is_limited = {};
};

// Starts podman's service, or finds the one that runs, and looks at the machine; takes up to a few
// seconds. Containers that an earlier runtime of the same directory has started go on. Throws
// Unusable. When the runtime is destroyed, containers and podman's service go on.
std::unique_ptr<Runtime> make_runtime(const RuntimeOptions& options, Runtime::Wake wake);

// Looks at the machine as make_runtime() does, without starting anything. Throws Unusable.
std::vector<Finding> look(const RuntimeOptions& options);

// Ends and removes all containers, networks, rules, images and files of the directory, and podman's
// service. No runtime may use the directory. Throws Unusable, or std::runtime_error with what is
// left over.
void clean(const RuntimeOptions& options);

// Pushes an image of the directory to a registry, as `destination` without a tag or digest, with
// the logins that `podman login` or `docker login` has stored for this user. No login is sent to an
// address of loopback, nor TLS asked of it. Takes as long as the upload, half an hour at most.
// Returns the image's digest there, such as `sha256:…`. Throws Unusable.
std::string push(const RuntimeOptions& options, const std::string& image,
                 const std::string& destination);

// How podman is reached, for what the node's runtime doesn't do (builds): the socket of its service
// and the environment of its programs. Valid once a runtime of the directory was made.
std::filesystem::path socket_of(const RuntimeOptions& options);

}  // namespace berth::embedded::podman
