#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace berth::reconcilers {

// Calls a round on a thread of its own, again and again, until it is stopped: what the loops share
// that wait for time to pass. start() and stop() it once, from one thread.
class Repeating {
 public:
  struct Pauses {
    std::chrono::milliseconds interval;  // between two rounds
    // At least so long, however often it is woken: rounds that cost something stay few.
    std::chrono::milliseconds rest{0};
  };
  // `round` must not throw.
  Repeating(std::function<void()> round, Pauses pauses);
  ~Repeating() { stop(); }
  Repeating(const Repeating&) = delete;
  Repeating& operator=(const Repeating&) = delete;

  void start();
  // Returns when the round that runs has ended; false where there was nothing to stop.
  bool stop();
  // Within a round: whether it should come to its end.
  bool stopping() const { return stop_.stop_requested(); }
  // The next round comes at once, or after the rest. Quick, from any thread.
  void wake();

 private:
  void work();

  const std::function<void()> round_;
  const Pauses pauses_;
  std::mutex mutex_;
  std::condition_variable_any wakes_;
  bool is_woken_ = false;
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace berth::reconcilers
