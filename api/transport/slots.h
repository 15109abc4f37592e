#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "api/transport/socket.h"

namespace berth::api {

// Limits how many of something there are at once, such as running handlers or large bodies in
// memory. All functions may be called from any thread.
class Slots {
 public:
  explicit Slots(std::size_t slots) : slots_(slots) {}

  // A slot that is taken as long as this object lives; or an empty one, which converts to false.
  class Slot {
   public:
    explicit Slot(Slots* slots) : slots_(slots) {}
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() {
      if (slots_ != nullptr) slots_->release();
    }
    explicit operator bool() const { return slots_ != nullptr; }

   private:
    Slots* slots_;
  };

  // Waits for a slot. Returns an empty one after the deadline or after close().
  Slot acquire(Deadline deadline) {
    std::unique_lock lock(mutex_);
    const bool free = freed_.wait_until(lock, deadline, [&] { return closed_ || used_ < slots_; });
    if (!free || closed_) return Slot(nullptr);
    ++used_;
    return Slot(this);
  }

  // Ends all waiting. From now on, acquire() returns empty slots.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    freed_.notify_all();
  }

  std::size_t used() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  void release() {
    const std::lock_guard lock(mutex_);
    --used_;
    freed_.notify_one();
  }

  const std::size_t slots_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::size_t used_ = 0;
  bool closed_ = false;
};

}  // namespace berth::api
