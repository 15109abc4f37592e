#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "reconcilers/embedded/node/runtime.h"

namespace berth::embedded::podman {

// Tells the kubelet to look at pods, on a thread of its own, because that may wait for the store's
// mutex. A pod that already waits isn't added again. Thread-safe.
class Waker {
 public:
  explicit Waker(Runtime::Wake wake) : wake_(std::move(wake)), thread_([this] { serve(); }) {}
  ~Waker() { stop(); }
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  void wake(const std::string& name_space, const std::string& pod) {
    {
      const std::lock_guard lock(mutex_);
      if (!waiting_.emplace(name_space, pod).second) return;
      order_.emplace_back(name_space, pod);
    }
    changed_.notify_one();
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || !order_.empty(); });
      if (stopped_) return;
      const auto pod = order_.front();
      order_.pop_front();
      waiting_.erase(pod);
      lock.unlock();
      wake_(pod.first, pod.second);
      lock.lock();
    }
  }

  const Runtime::Wake wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, std::string>> order_;
  std::set<std::pair<std::string, std::string>> waiting_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace berth::embedded::podman
