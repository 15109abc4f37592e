#include "reconcilers/embedded/node/podman/workers.h"

#include <algorithm>

namespace berth::embedded::podman {

Workers::Workers(int threads, int most_of_a_group, std::size_t most_tasks)
    : most_of_a_group_(most_of_a_group), most_tasks_(most_tasks) {
  for (int i = 0; i < threads; ++i) running_.emplace_back([this] { serve(); });
}

Workers::~Workers() { stop(); }

void Workers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : running_)
    if (thread.joinable()) thread.join();
}

bool Workers::submit(const std::string& group, Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || waiting_ >= most_tasks_) return false;
    groups_[group].waiting.push_back(std::move(task));
    ++waiting_;
  }
  changed_.notify_one();
  return true;
}

Workers::Group* Workers::next_group(std::string& name) {
  const auto after = groups_.upper_bound(last_);
  const auto may_run = [&](const auto& entry) {
    return !entry.second.waiting.empty() && entry.second.running < most_of_a_group_;
  };
  auto found = std::find_if(after, groups_.end(), may_run);
  if (found == groups_.end()) {
    found = std::find_if(groups_.begin(), after, may_run);
    if (found == after) return nullptr;
  }
  name = found->first;
  return &found->second;
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::string name;
    Group* group = nullptr;
    changed_.wait(lock, [&] { return stopped_ || (group = next_group(name)) != nullptr; });
    if (stopped_) return;
    last_ = name;
    const Task task = std::move(group->waiting.front());
    group->waiting.pop_front();
    --waiting_;
    ++group->running;
    lock.unlock();
    task();
    lock.lock();
    --group->running;
    if (group->running == 0 && group->waiting.empty()) groups_.erase(name);
    // A task of this group may have waited for this one.
    changed_.notify_one();
  }
}

}  // namespace berth::embedded::podman
