#pragma once

#include <httplib.h>

#include <thread>

namespace berth::test {

// Answers requests to a server of cpp-httplib on a free port of 127.0.0.1, on a thread of its own,
// as long as this object lives. The server's routes have to be set before. Declare it behind
// everything that the routes use.
class Listening {
 public:
  explicit Listening(httplib::Server& server)
      : server_(server),
        port_(server.bind_to_any_port("127.0.0.1")),
        thread_([this] { server_.listen_after_bind(); }) {
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~Listening() {
    server_.stop();
    thread_.join();
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  int port() const { return port_; }

 private:
  httplib::Server& server_;
  const int port_;
  std::thread thread_;
};

}  // namespace berth::test
