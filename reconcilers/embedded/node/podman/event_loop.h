#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "controller/base/descriptor.h"
#include "reconcilers/embedded/timing.h"

namespace berth::embedded::podman {

// One thread that waits for all descriptors and moments at once (epoll(7)), so that what is at rest
// costs nothing. What it runs must not wait and must not throw.
class EventLoop {
 public:
  using Task = std::function<void()>;
  using Handler = std::function<void(std::uint32_t events)>;
  using Timer = std::uint64_t;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs a task on the loop's thread. Thread-safe; does nothing after stop().
  void post(Task task);
  // Ends the thread; what was posted and didn't run is dropped.
  void stop();

  // Only for the loop's thread. -------------------------------------------------------------------

  // Calls `handler` whenever one of the events (EPOLLIN, EPOLLOUT) happens, until forget().
  void watch(int descriptor, std::uint32_t events, Handler handler);
  void forget(int descriptor);
  Timer at(Moment moment, Task task);
  void cancel(Timer timer);

 private:
  void serve();
  void run_posted();
  // Runs what is due. Returns for how many milliseconds there is nothing to do; -1: for ever.
  int run_timers();

  Descriptor epoll_;
  Descriptor wake_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::vector<Task> posted_;
  std::unordered_map<int, Handler> handlers_;
  std::multimap<Moment, std::pair<Timer, Task>> timers_;
  std::unordered_map<Timer, Moment> moments_;
  Timer last_timer_ = 0;
  std::thread thread_;
};

}  // namespace berth::embedded::podman
