#include "reconcilers/loops/repeating.h"

#include <pthread.h>

#include <utility>

namespace berth::reconcilers {

Repeating::Repeating(const char* name, std::function<void()> round, Pauses pauses)
    : name_(name), round_(std::move(round)), pauses_(pauses) {}

void Repeating::start() {
  thread_ = std::thread([this] { work(); });
  pthread_setname_np(thread_.native_handle(), name_);
}

bool Repeating::stop() {
  if (!thread_.joinable()) return false;
  stop_.request_stop();
  thread_.join();
  return true;
}

void Repeating::wake() {
  const std::lock_guard lock(mutex_);
  is_woken_ = true;
  wakes_.notify_all();
}

void Repeating::work() {
  while (!stopping()) {
    round_();
    std::unique_lock lock(mutex_);
    wakes_.wait_for(lock, stop_.get_token(), pauses_.rest, [] { return false; });
    wakes_.wait_for(lock, stop_.get_token(), pauses_.interval, [this] { return is_woken_; });
    is_woken_ = false;
  }
}

}  // namespace berth::reconcilers
