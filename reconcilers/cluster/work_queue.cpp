#include "reconcilers/cluster/work_queue.h"

#include <algorithm>

namespace berth::reconcilers {

WorkQueue::WorkQueue(Observer observer, std::function<TimePoint()> now)
    : observer_(std::move(observer)), now_(std::move(now)) {}

WorkQueue::~WorkQueue() { stop(); }

void WorkQueue::serve(const std::string& name, std::size_t most,
                      std::function<void(const std::string&)> handle) {
  const std::lock_guard lock(mutex_);
  handle_ = std::move(handle);
  crew_.emplace(mutex_, ThreadCrew::Options{.most = most,
                                            .kept = 1,
                                            .name = name,
                                            .work = [this](ThreadCrew::Lock& held) { work(held); },
                                            .next = [this] { return next_locked(); }});
  crew_->start();
  crew_->call(ready_.size());
}

void WorkQueue::work(ThreadCrew::Lock& lock) {
  while (!shut_down_) {
    const auto key = take_locked();
    if (!key) {
      if (!crew_->rest(lock)) return;
      continue;
    }
    // While this thread is busy, another one has to wait for what comes next.
    if (next_locked() != ThreadCrew::never) crew_->call(ready_.size());
    lock.unlock();
    handle_(*key);
    done(*key);
    lock.lock();
  }
}

// When there is work for one more thread.
WorkQueue::TimePoint WorkQueue::next_locked() const {
  if (shut_down_ || !ready_.empty()) return ThreadCrew::now;
  return by_due_.empty() ? ThreadCrew::never : by_due_.begin()->first;
}

// There is work for one more thread, or a wait has become shorter.
void WorkQueue::call_locked() {
  changed_.notify_one();
  if (crew_ && !shut_down_) crew_->call(ready_.size());
}

void WorkQueue::add(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (!shut_down_) add_locked(key);
}

void WorkQueue::add_after(const std::string& key, Wait wait) {
  const std::lock_guard lock(mutex_);
  if (shut_down_) return;
  if (wait <= Wait(0))
    add_locked(key);
  else
    wait_locked(key, now_() + wait);
}

void WorkQueue::add_rate_limited(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (shut_down_) return;
  Wait wait = first_back_off;
  for (int i = 0; i < failures_[key] && wait < longest_back_off; ++i) wait *= 2;
  ++failures_[key];
  if (observer_.retried) observer_.retried();
  wait_locked(key, now_() + std::min(wait, longest_back_off));
}

void WorkQueue::retry(const std::string& key, const std::optional<std::chrono::seconds>& asked) {
  if (asked)
    add_after(key, std::min(*asked, longest_asked));
  else
    add_rate_limited(key);
}

void WorkQueue::forget(const std::string& key) {
  const std::lock_guard lock(mutex_);
  failures_.erase(key);
}

int WorkQueue::retries(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

std::optional<std::string> WorkQueue::get() {
  std::unique_lock lock(mutex_);
  while (!shut_down_) {
    if (auto key = take_locked()) return key;
    if (by_due_.empty())
      changed_.wait(lock);
    else
      changed_.wait_for(lock, by_due_.begin()->first - now_());
  }
  return std::nullopt;
}

std::optional<std::string> WorkQueue::try_get() {
  const std::lock_guard lock(mutex_);
  return shut_down_ ? std::nullopt : take_locked();
}

void WorkQueue::done(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto held = processing_.find(key);
  if (held == processing_.end()) return;
  if (observer_.worked) observer_.worked(now_() - held->second);
  processing_.erase(held);
  if (dirty_.contains(key)) {
    ready_.push_back(key);
    call_locked();
  }
  if (processing_.empty()) drained_.notify_all();
}

void WorkQueue::shut_down() {
  const std::lock_guard lock(mutex_);
  shut_down_ = true;
  changed_.notify_all();
}

void WorkQueue::stop() {
  shut_down();
  if (crew_) crew_->join();
}

bool WorkQueue::drain(Wait limit) {
  std::unique_lock lock(mutex_);
  return drained_.wait_for(lock, limit, [this] { return processing_.empty(); });
}

size_t WorkQueue::depth() const {
  const std::lock_guard lock(mutex_);
  return dirty_.size();
}

std::chrono::duration<double> WorkQueue::unfinished() const {
  const std::lock_guard lock(mutex_);
  std::chrono::duration<double> sum{0};
  for (const auto& [key, since] : processing_) sum += now_() - since;
  return sum;
}

std::chrono::duration<double> WorkQueue::longest_running() const {
  const std::lock_guard lock(mutex_);
  std::chrono::duration<double> longest{0};
  for (const auto& [key, since] : processing_)
    longest = std::max(longest, std::chrono::duration<double>(now_() - since));
  return longest;
}

void WorkQueue::add_locked(const std::string& key) {
  if (!dirty_.try_emplace(key, now_()).second) return;
  if (observer_.added) observer_.added();
  if (processing_.contains(key)) return;
  ready_.push_back(key);
  call_locked();
}

void WorkQueue::wait_locked(const std::string& key, TimePoint due) {
  const auto [entry, is_new] = due_.try_emplace(key, due);
  if (!is_new) {
    if (entry->second <= due) return;
    by_due_.erase({entry->second, key});
    entry->second = due;
  }
  by_due_.emplace(due, key);
  // A worker that sleeps until a later time has to recompute how long it may sleep.
  call_locked();
}

void WorkQueue::stop_waiting_locked(const std::string& key) {
  const auto found = due_.find(key);
  if (found == due_.end()) return;
  by_due_.erase({found->second, key});
  due_.erase(found);
}

void WorkQueue::move_due_locked() {
  const TimePoint now = now_();
  while (!by_due_.empty() && by_due_.begin()->first <= now) {
    const std::string key = by_due_.begin()->second;
    stop_waiting_locked(key);
    add_locked(key);
  }
}

std::optional<std::string> WorkQueue::take_locked() {
  move_due_locked();
  if (ready_.empty()) return std::nullopt;
  std::string key = std::move(ready_.front());
  ready_.pop_front();
  const TimePoint now = now_();
  if (const auto added = dirty_.find(key); added != dirty_.end()) {
    if (observer_.waited) observer_.waited(now - added->second);
    dirty_.erase(added);
  }
  stop_waiting_locked(key);
  processing_[key] = now;
  return key;
}

}  // namespace berth::reconcilers
