#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "controller/base/descriptor.h"
#include "reconcilers/embedded/ingress/caddy_config.h"

namespace berth::embedded {

// The process that serves all requests for apps: started in a session of its own, so that it goes
// on serving when berthd ends, however it ends, and found again by the socket of its
// administration. Started again when it has ended. Thread-safe.
class Caddy {
 public:
  struct Options {
    std::string program = "caddy";  // a path, or a name that is looked for in PATH
    CaddySettings settings;
    // Called after Caddy was started or found, on the watching thread too.
    std::function<void()> on_serving = {};
  };

  // Finds the running Caddy, or starts one, and gives it its configuration, unless it has exactly
  // this one: then nothing that it serves is touched. Throws Unusable if Caddy isn't installed,
  // doesn't take the configuration, or may not listen, in which case nothing runs.
  explicit Caddy(Options options);
  // Stops watching. Caddy goes on.
  ~Caddy();
  Caddy(const Caddy&) = delete;
  Caddy& operator=(const Caddy&) = delete;

  pid_t pid() const;
  // How often it was started again because it had ended.
  int restarts() const;

  // The process that serves the administration at this socket; nothing if there is none.
  static std::optional<pid_t> running(const std::string& admin_socket);
  // Ends a running Caddy and waits until it is gone, for ten seconds at most. Returns false if
  // there was none.
  static bool end(const std::string& admin_socket);
  // The configuration of the running Caddy, or null.
  static Json configuration(const std::string& admin_socket);

 private:
  void find_or_start();
  pid_t start();
  void load();
  void watch(const std::stop_token& stop);
  void begin_again(const std::stop_token& stop);

  const Options options_;
  const std::string config_;
  Descriptor wake_;
  mutable std::mutex mutex_;  // guards pid_ and restarts_
  pid_t pid_ = 0;
  int restarts_ = 0;
  std::jthread thread_;
};

// Makes sure that the program is a Caddy that berth can use. Starts it for its version, which takes
// some 50 ms. Throws Unusable.
void check_caddy(const std::string& program = "caddy");
// Makes sure that nobody else listens on the address and that berthd may. Throws Unusable, whose
// help is the command that solves it. `key` is the configuration's name of the address.
void check_ingress_address(const IngressAddress& address, const std::string& key);

}  // namespace berth::embedded
