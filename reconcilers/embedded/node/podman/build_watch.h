#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "controller/base/descriptor.h"
#include "reconcilers/embedded/node/builder.h"
#include "reconcilers/embedded/node/unix_http.h"

namespace berth::embedded::podman {

// Ends a build when its time is over, somebody asks to stop it, or the disk runs full: kills what
// its step runs, and cancels the calls, because podman goes on with a step after a call has ended.
// It has a thread of its own, which ends with this object.
class BuildWatch {
 public:
  enum class Why { nothing, stopped, timed_out, out_of_room };

  struct Watched {
    std::filesystem::path directory;  // the data directory's `local`
    std::string build;                // its id
    BuildOrder::Limits limits;
    bool keeps_rules = false;  // sets the rules of the builds' network again if they are removed
  };
  BuildWatch(Watched watched, std::stop_token stop);
  ~BuildWatch();
  BuildWatch(const BuildWatch&) = delete;
  BuildWatch& operator=(const BuildWatch&) = delete;

  UnixCancel& cancel() { return cancel_; }
  Why why() const { return why_; }

  // The limit of locks (RLIMIT_LOCKS, getrlimit(2)) by which the build's steps are told from
  // others. Linux doesn't enforce it, and it is out of the reach of whoever writes the
  // Containerfile, unlike a variable or a label.
  static std::int64_t mark_of(const std::string& build);
  // Kills what the steps of builds run whose files are below `directory`: of one build, or of all.
  // Each step has a process of podman's, in whose directory is the container's configuration, and
  // whose only child is the container's first process. Returns how many there were.
  static int kill_steps(const std::filesystem::path& directory,
                        const std::optional<std::int64_t>& mark = {});

 private:
  void serve();
  bool has_no_room();

  const std::filesystem::path directory_;
  const std::int64_t mark_;
  const std::chrono::steady_clock::time_point ends_;
  const std::uint64_t most_bytes_;  // of what the build writes
  const std::uint64_t reserve_;     // what has to stay free on the disk
  const std::set<std::filesystem::path> layers_before_;
  const Descriptor tables_;  // see watch_tables(); for this object's thread
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
