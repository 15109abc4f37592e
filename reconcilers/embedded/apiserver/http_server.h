#pragma once

#include <memory>
#include <thread>

#include "controller/transport/server.h"

namespace berth::embedded {

// A plain HTTP server on a loopback port, which stays reserved while the server is down.
class HttpServer {
 public:
  // The largest body that an API server accepts (MaxRequestBodyBytes).
  static constexpr size_t largest_body = 3 * 1024 * 1024;
  // Each watch and each kept connection holds a thread while it lasts.
  static constexpr size_t most_connections = 1024;

  // Listens on 127.0.0.1 at a free port. Throws std::runtime_error.
  explicit HttpServer(api::Handler handler);
  ~HttpServer();

  int port() const { return port_; }
  // Closes idle connections, waits for the handlers that are running, and refuses new connections.
  // The caller has to make sure that the handlers end.
  void down();
  // Listens on the same port again.
  void up();

 private:
  void reserve();

  const api::Handler handler_;
  int port_ = 0;
  Descriptor reservation_;  // bound, without listening: nobody else gets the port meanwhile
  std::unique_ptr<api::Server> server_;
  std::thread thread_;
};

}  // namespace berth::embedded
