#pragma once

#include <httplib.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace berth::simulated {

// What a handler gets of a request: the body was read already.
using Handler =
    std::function<void(const httplib::Request&, const std::string& body, httplib::Response&)>;

// A plain HTTP server on a loopback port that it keeps, also while it is down.
class HttpServer {
 public:
  // What an API server takes (MaxRequestBodyBytes).
  static constexpr size_t largest_body = 3 * 1024 * 1024;
  // Each watch and each kept connection holds a thread while it lasts.
  static constexpr size_t most_threads = 1024;
  static constexpr int backlog = 1024;

  // Listens on 127.0.0.1 at a free port. Throws std::runtime_error.
  explicit HttpServer(Handler handler);
  ~HttpServer();

  int port() const { return port_; }
  // Ends the connections that wait for a request, waits for the handlers that run, and refuses new
  // connections. The caller sees to it that handlers end.
  void down();
  // Listens again on the same port.
  void up();

 private:
  class Listener;
  class Threads;
  void configure(httplib::Server& server);
  void reserve();

  Handler handler_;
  int port_ = 0;
  int reservation_ = -1;  // a bound socket that doesn't listen: nobody else gets the port meanwhile
  std::unique_ptr<Listener> listener_;
  std::thread thread_;
};

}  // namespace berth::simulated
