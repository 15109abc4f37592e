#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

namespace berth::embedded {

// A mutex that threads get in the order of their arrival: the controllers take it thousands of
// times in a row, and requests must not starve. It wakes nobody but the thread whose turn it is.
// Works with std::unique_lock and std::condition_variable_any.
class FairMutex {
 public:
  void lock() {
    std::unique_lock inner(inner_);
    if (!held_) {
      held_ = true;
      return;
    }
    Waiter mine;
    waiting_.push_back(&mine);
    mine.turn.wait(inner, [&] { return mine.has_it; });
  }
  void unlock() {
    // The waiter is on the stack of its thread, which goes on as soon as it can lock inner_.
    const std::lock_guard inner(inner_);
    if (waiting_.empty()) {
      held_ = false;
      return;
    }
    waiting_.front()->has_it = true;
    waiting_.front()->turn.notify_one();
    waiting_.pop_front();
  }

 private:
  struct Waiter {
    std::condition_variable turn;
    bool has_it = false;
  };
  std::mutex inner_;
  bool held_ = false;
  std::deque<Waiter*> waiting_;
};

using Lock = std::unique_lock<FairMutex>;

}  // namespace berth::embedded
