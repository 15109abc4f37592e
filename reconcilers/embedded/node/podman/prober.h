#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reconcilers/embedded/node/podman/event_loop.h"
#include "reconcilers/embedded/node/runtime.h"

namespace berth::embedded::podman {

struct Probe {
  std::string address;  // where the container is reached from this machine
  int port = 0;
  std::string shown;  // `address:port` as messages name it
  bool http = false;
  std::string path = "/";
  std::vector<std::pair<std::string, std::string>> headers{};
  // Whether something between accepts each connection, and closes it if the container doesn't
  // listen, as rootlessport does.
  bool behind_proxy = false;
  std::chrono::milliseconds timeout{1'000};
  std::chrono::milliseconds patience{0};  // see ProbeRequest
};

// Connects to a container's port as a kubelet does, on the loop's thread. `done` is called once,
// there. Only for the loop's thread.
void begin_probe(EventLoop& loop, const Probe& probe, std::function<void(ProbeResult)> done);

}  // namespace berth::embedded::podman
