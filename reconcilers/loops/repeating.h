#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace berth::reconcilers {

// Calls a function again and again on its own thread until it is stopped: the common part of the
// loops that wait for time to pass. Call start() and stop() once each, from the same thread.
class Repeating {
 public:
  struct Pauses {
    std::chrono::milliseconds interval;  // between two rounds
    // The shortest pause between two rounds, however often wake() is called; for rounds that cost
    // something.
    std::chrono::milliseconds rest{0};
  };
  // `round` must not throw. The thread's name, of at most 15 characters, is what `top -H` shows.
  Repeating(const char* name, std::function<void()> round, Pauses pauses);
  ~Repeating() { stop(); }
  Repeating(const Repeating&) = delete;
  Repeating& operator=(const Repeating&) = delete;

  // Starts the thread; the first round begins at once.
  void start();
  // Returns when the current round has ended. Returns false if there was nothing to stop.
  bool stop();
  // For use within a round: whether the round should come to an end.
  bool stopping() const { return stop_.stop_requested(); }
  // Starts the next round at once, or after `rest`. Never blocks for long; may be called from any
  // thread.
  void wake();

 private:
  void work();

  const char* const name_;
  const std::function<void()> round_;
  const Pauses pauses_;
  std::mutex mutex_;
  std::condition_variable_any wakes_;
  bool is_woken_ = false;
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace berth::reconcilers
