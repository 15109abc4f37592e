#pragma once

#include <httplib.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace berth::simulated {

// Handles a request whose body has already been read.
using Handler =
    std::function<void(const httplib::Request&, const std::string& body, httplib::Response&)>;

// A plain HTTP server on a loopback port, which stays reserved while the server is down.
class HttpServer {
 public:
  // The largest body that an API server accepts (MaxRequestBodyBytes).
  static constexpr size_t largest_body = 3 * 1024 * 1024;
  // Each watch and each idle connection occupies a thread.
  static constexpr size_t most_threads = 1024;
  static constexpr int backlog = 1024;

  // Listens on a free port of 127.0.0.1. Throws std::runtime_error.
  explicit HttpServer(Handler handler);
  ~HttpServer();

  int port() const { return port_; }
  // Closes idle connections, waits for the handlers that are running, and refuses new connections.
  // The caller has to make sure that the handlers end.
  void down();
  // Listens on the same port again.
  void up();

 private:
  class Listener;
  class Threads;
  void configure(httplib::Server& server);
  void reserve();

  Handler handler_;
  int port_ = 0;
  int reservation_ = -1;  // a bound socket that doesn't listen, which keeps the port reserved
  std::unique_ptr<Listener> listener_;
  std::thread thread_;
};

}  // namespace berth::simulated
