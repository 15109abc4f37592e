#include "controller/base/thread_crew.h"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace berth {

ThreadCrew::ThreadCrew(std::mutex& mutex, Options options)
    : mutex_(mutex), options_(std::move(options)) {}

ThreadCrew::~ThreadCrew() { join(); }

void ThreadCrew::start() {
  if (threads_.size() >= std::max<std::size_t>(options_.most, 1)) return;
  const auto place = threads_.emplace(threads_.end());
  try {
    *place = std::thread([this, place] { run(place); });
  } catch (const std::exception&) {  // no thread, or no memory for one
    threads_.erase(place);
    if (threads_.empty()) throw;
  }
}

bool ThreadCrew::call(std::size_t ready) {
  if (!resting_.empty()) {
    call_newest();
    return true;
  }
  if (called_ >= std::max<std::size_t>(ready, 1)) return true;
  try {
    start();
  } catch (const std::exception&) {
    return !threads_.empty();
  }
  return true;
}

void ThreadCrew::call_newest() {
  Resting& one = *resting_.back();
  resting_.pop_back();
  ++called_;
  one.is_called = true;
  one.changed.notify_one();
}

bool ThreadCrew::rest(Lock& lock) {
  Resting self;
  Clock::time_point end_of_life = Clock::now() + options_.idle_lifetime;
  while (true) {
    const Clock::time_point next = options_.next();
    const Clock::time_point present = Clock::now();
    if (next <= present) return true;
    if (present >= end_of_life) {
      // One thread waits for what is due later.
      const bool is_needed =
          threads_.size() <= options_.kept || (next != never && resting_.empty());
      if (!is_needed) {
        if (next < awaited_) call_newest();
        return false;
      }
      end_of_life = present + options_.idle_lifetime;
    }
    const bool awaits_it = next < awaited_;
    if (awaits_it) awaited_ = next;
    self.is_called = false;
    resting_.push_back(&self);
    self.changed.wait_until(lock, awaits_it ? std::min(next, end_of_life) : end_of_life,
                            [&] { return self.is_called; });
    if (self.is_called)
      --called_;
    else
      std::erase(resting_, &self);
    if (awaits_it && awaited_ == next) awaited_ = never;
  }
}

void ThreadCrew::run(Threads::iterator self) {
  if (!options_.name.empty()) pthread_setname_np(pthread_self(), options_.name.c_str());
  Lock lock(mutex_);
  options_.work(lock);
  // Those that ended before are joined by this one, so that no more than one waits for that.
  Threads ended = std::exchange(ended_, {});
  ended_.splice(ended_.end(), threads_, self);
  if (threads_.empty()) all_ended_.notify_all();
  lock.unlock();
  for (std::thread& thread : ended) thread.join();
}

void ThreadCrew::join() {
  Lock lock(mutex_);
  while (!resting_.empty()) call_newest();
  all_ended_.wait(lock, [&] { return threads_.empty(); });
  Threads ended = std::exchange(ended_, {});
  lock.unlock();
  for (std::thread& thread : ended) thread.join();
}

}  // namespace berth
