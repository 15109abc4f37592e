#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "reconcilers/embedded/node/builder.h"
#include "reconcilers/embedded/node/unix_http.h"

namespace berth::embedded::podman {

// Ends a build when its time is over, somebody asks to stop it, or the disk runs full: kills what
// its step runs, and cancels the calls, because podman goes on with a step after a call has ended.
// It has a thread of its own, which ends with this object.
class BuildWatch {
 public:
  enum class Why { nothing, stopped, timed_out, out_of_room };

  BuildWatch(std::filesystem::path directory, std::string app, const BuildOrder::Limits& limits,
             std::stop_token stop);
  ~BuildWatch();
  BuildWatch(const BuildWatch&) = delete;
  BuildWatch& operator=(const BuildWatch&) = delete;

  UnixCancel& cancel() { return cancel_; }
  Why why() const { return why_; }

  // Kills what the steps of builds run: of an app, or of all if it is empty. Each step has a
  // process of podman's, in whose directory is the container's configuration, and whose only child
  // is the container's first process. Returns how many there were.
  static int kill_steps(const std::string& app);

 private:
  void serve();
  bool has_no_room();

  const std::filesystem::path directory_;
  const std::string app_;
  const std::chrono::steady_clock::time_point ends_;
  const std::uint64_t most_bytes_;  // of what the build writes
  const std::uint64_t reserve_;     // what has to stay free on the disk
  const std::set<std::filesystem::path> layers_before_;
  const std::stop_token stop_;
  UnixCancel cancel_;
  std::atomic<Why> why_ = Why::nothing;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::uint64_t measure_below_;  // how much is free when layers are measured
  std::thread thread_;
};

}  // namespace berth::embedded::podman
