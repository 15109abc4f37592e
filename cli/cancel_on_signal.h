#pragma once

#include <atomic>
#include <csignal>
#include <mutex>
#include <string>
#include <thread>

#include "cli/run.h"

namespace berth::cli {

// The exit code of programs that SIGINT ends.
inline constexpr int exit_interrupted = 130;

// While it exists, SIGINT and SIGTERM cancel something at the server instead of ending the program;
// a second one ends it. The thread has an Api of its own, because an Api is for one thread.
class CancelOnSignal {
 public:
  // `what` is what people call it, such as "build". `run` has to outlive this object.
  CancelOnSignal(Run& run, std::string what);
  ~CancelOnSignal();
  CancelOnSignal(const CancelOnSignal&) = delete;
  CancelOnSignal& operator=(const CancelOnSignal&) = delete;

  // From now on there is something to cancel: by DELETE of this path.
  void set_path(const std::string& path);
  // Whether a signal has come.
  bool is_cancelled() const { return cancelled_; }

 private:
  void wait();
  std::string path();

  const Settings& settings_;
  CredentialStore& store_;
  const std::string what_;
  sigset_t signals_;
  sigset_t before_;
  std::mutex mutex_;
  std::string path_;  // empty while there is nothing to cancel
  std::atomic<bool> ended_ = false;
  std::atomic<bool> cancelled_ = false;
  std::thread thread_;
};

}  // namespace berth::cli
