#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace berth::simulated {

// A mutex that threads get in the order of their arrival: the controllers take it thousands of
// times in a row, and requests must not starve. Works with std::unique_lock and
// std::condition_variable_any.
class FairMutex {
 public:
  void lock() {
    std::unique_lock inner(inner_);
    const std::uint64_t mine = next_++;
    turn_.wait(inner, [&] { return mine == serving_; });
  }
  void unlock() {
    {
      const std::lock_guard inner(inner_);
      ++serving_;
    }
    turn_.notify_all();
  }

 private:
  std::mutex inner_;
  std::condition_variable turn_;
  std::uint64_t next_ = 0;
  std::uint64_t serving_ = 0;
};

using Lock = std::unique_lock<FairMutex>;

}  // namespace berth::simulated
