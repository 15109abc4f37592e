#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace berth::embedded::podman {

// Threads that do what takes long. The groups (apps) take turns, and one alone gets
// `most_of_a_group` of them, so that nobody waits long for others. Tasks of a group begin in their
// order. Thread-safe.
class Workers {
 public:
  using Task = std::function<void()>;

  Workers(int threads, int most_of_a_group, std::size_t most_tasks);
  // Ends the threads once the tasks that run are done; waiting ones are dropped.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Returns false if as many tasks wait as may. A task must not throw.
  bool submit(const std::string& group, Task task);
  void stop();

 private:
  struct Group {
    std::deque<Task> waiting;
    int running = 0;
  };

  void serve();
  // The group whose turn it is; null if none may run a task.
  Group* next_group(std::string& name);

  const int most_of_a_group_;
  const std::size_t most_tasks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Group> groups_;
  std::string last_;  // the group that had its turn last
  std::size_t waiting_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> running_;
};

}  // namespace berth::embedded::podman
