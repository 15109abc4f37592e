#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "controller/domain/deployments/builds/builds.h"
#include "controller/domain/kernel/loop.h"
#include "reconcilers/builds/build_files.h"
#include "reconcilers/embedded/node/builder.h"

namespace berth::reconcilers {

// Builds what waits, each build on a thread of its own, and removes images that nobody needs. A
// build that runs when berthd ends, however it ends, has failed as interrupted and costs nothing.
// Used by one thread.
class BuildLoop {
 public:
  static constexpr std::string_view name = "builds";
  struct Parts {
    embedded::Builder& builder;
    const BuildFiles& files;
    std::vector<std::string> registries;  // of base images
    // Starts the next round at once; called on any thread.
    std::function<void()> wake;
  };
  struct Options {
    builds::Limits limits;
    int at_once = 1;
    int cpu_millicores = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t image_bytes = 0;
    std::chrono::milliseconds sweep = std::chrono::minutes(1);
  };

  BuildLoop(Parts parts, Options options);
  ~BuildLoop();  // stops the builds that run, without recording it
  BuildLoop(const BuildLoop&) = delete;
  BuildLoop& operator=(const BuildLoop&) = delete;

  Loop loop();
  // Records what has ended, starts what waits, and stops what is to be cancelled. Throws Error
  // `unavailable` if the database can't be used.
  void run_once(Round& round);
  // How many builds run.
  std::size_t running() const { return running_.size(); }

 private:
  struct Running {
    std::optional<builds::Outcome> outcome;  // once it is over; guarded by mutex_
    std::jthread thread;
  };

  void begin(Round& round);
  void start(const builds::Build& build);
  builds::Outcome build(const builds::Build& build, const std::stop_token& stop);
  embedded::BuildOrder order_of(const builds::Build& build) const;
  void record_ended(Round& round);
  void stop_all(Round& round);
  void clean(Round& round);
  void sweep_files(Round& round);
  void sweep_images(Round& round);
  void remove_unneeded(Round& round);

  const Parts parts_;
  const Options options_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Running>> running_;  // by the build
  std::chrono::steady_clock::time_point next_sweep_;
  bool is_clean_ = false;  // whether what an earlier process has left was removed
};

}  // namespace berth::reconcilers
