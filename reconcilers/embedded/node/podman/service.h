#pragma once

#include <filesystem>
#include <mutex>
#include <string>

#include "reconcilers/embedded/node/podman/machine.h"
#include "reconcilers/embedded/node/process.h"
#include "reconcilers/embedded/node/unix_http.h"

namespace berth::embedded::podman {

// What paths of the API begin with: podman's own, of the oldest version that is taken.
inline const std::string libpod_api = "/v4.0.0/libpod";

// podman's own service (`podman system service`), which speaks libpod's REST API on a unix socket.
// It is a process of its own that outlives berthd, as the containers do; all of its files and its
// configuration are below one directory, so that the machine's own podman is never touched.
class Service {
 public:
  // `directory` is the data directory's `local`. Nothing is started yet. Throws Unusable if the
  // path is too long for a socket.
  Service(std::filesystem::path directory, Machine machine);

  // Finds the service that runs, or starts one, and waits until it answers. Thread-safe. Throws
  // Unusable.
  void ensure();
  // Whether it answers within a few seconds.
  bool answers() const;
  // Ends it, which doesn't touch the containers.
  void stop();
  // Ends it if it is still this one, because it doesn't answer, so that ensure() starts another.
  void give_up(const Daemon& hanging);

  const UnixHttp& http() const { return http_; }
  // The process that ensure() found or started last.
  Daemon daemon() const;
  const std::filesystem::path& directory() const { return directory_; }
  const Machine& machine() const { return machine_; }
  // The environment in which programs of podman find its files.
  std::map<std::string, std::string> environment() const;

 private:
  void write_configuration();
  std::string hash_of_configuration() const;
  void forget_before_boot();
  bool adopt();

  const std::filesystem::path directory_;
  const Machine machine_;
  const UnixHttp http_;
  mutable std::mutex mutex_;
  Daemon daemon_;
};

// The texts of the files of configuration, for tests.
std::string containers_conf(const std::filesystem::path& directory, const Machine& machine);
std::string storage_conf(const std::filesystem::path& directory, const Machine& machine);

}  // namespace berth::embedded::podman
