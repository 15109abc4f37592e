#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace berth::process {

// Stands between berthd and PostgreSQL, and fails as networks and servers do.
class DatabaseProxy {
 public:
  enum class Mode {
    passes,   // everything is passed on
    hangs,    // connections stay open and new ones are taken, but nothing is passed on
    refuses,  // all connections are closed, and new ones at once
  };

  // Listens on a port of 127.0.0.1, and passes on to the socket of test::socket_of_server().
  DatabaseProxy();
  ~DatabaseProxy();
  DatabaseProxy(const DatabaseProxy&) = delete;
  DatabaseProxy& operator=(const DatabaseProxy&) = delete;

  int port() const { return port_; }
  void become(Mode mode) { mode_ = mode; }

 private:
  void run(const std::stop_token& stop);
  void accept_one();
  bool pass_on(int from, int to) const;
  void close_all();

  int listener_ = -1;
  int port_ = 0;
  std::atomic<Mode> mode_ = Mode::passes;
  std::vector<std::pair<int, int>> connections_;  // used by the thread only
  std::jthread thread_;  // last: joined before the members that it uses are destroyed
};

}  // namespace berth::process
