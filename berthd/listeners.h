#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "berthd/config.h"
#include "controller/transport/server.h"

namespace berth {

// The listeners of the API: `listen` and, if the configuration has it, `internal-listen`. The
// latter takes the internal secret, which the former doesn't then, and serves admins and their
// programs alone, so it handles fewer requests at the same time. If berthd has an ingress
// controller of its own, a Unix socket takes what comes through it, and is like `listen` otherwise.
class Listeners {
 public:
  // Listens at once, so that connections are queued. `handler` is called from start() on, on many
  // threads. Throws StartError that names the address.
  // `ingress_socket` is empty if there is no such controller.
  Listeners(const Config& config, const std::string& internal_secret, const api::Handler& handler,
            const api::PlaceOfBody& place_of_body, const std::string& ingress_socket = "");

  // The address of `listen` with its port, then that of `internal-listen`.
  const std::vector<Address>& addresses() const { return addresses_; }

  void start();
  // Drains all at the same time: new connections to either are refused meanwhile.
  api::Drained stop();

  // Of `listen`, and of what comes through the ingress controller.
  api::ServerCounters counters() const;
  // How many handlers, and takeovers of upgraded connections, haven't returned.
  std::size_t running_handlers() const;

 private:
  api::Server public_;
  const std::unique_ptr<api::Server> internal_;  // may be null
  const std::unique_ptr<api::Server> ingress_;   // may be null
  std::vector<Address> addresses_;
  std::vector<std::jthread> threads_;
};

// Returns the header fields that every answer has.
api::Fields common_headers(const Config& config);

}  // namespace berth
