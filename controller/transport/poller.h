#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "controller/base/descriptor.h"
#include "controller/transport/socket.h"

namespace berth::api {

// Waits for the sockets of all connections that no thread works for, on one thread with epoll(7).
class Poller {
 public:
  // A socket that can be watched. Whoever watches it gives it away; the one who gets it back, by
  // the Poller's call or by tell(), has it for themselves and may watch it again, or destroy it
  // after drop().
  class Watched {
   public:
    explicit Watched(int descriptor) : fd_(descriptor) {}
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

    // Forgets that there was news.
    void clear_news() { has_news_ = false; }

   private:
    friend class Poller;
    const int fd_;
    std::atomic<bool> has_news_ = false;
    bool added_ = false;
    bool watched_ = false;
    bool takeable_ = false;
    Deadline deadline_{};
    Deadline timer_ = Deadline::max();  // of its entry in timers_; max() if it has none
  };
  enum class Why {
    event,  // it looks as if there were one; a system call says whether that is right
    time,
  };
  // Called on the Poller's thread for each that is given back. Must not block, and throws nothing.
  using Call = std::function<void(Watched&, Why)>;
  enum class Takeable { no, yes };

  // Starts the thread. Throws std::system_error.
  explicit Poller(Call call);
  // Nothing may be watched any more.
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Gives the socket back after one of the `events` (as for epoll_ctl(2); 0 for none), or at the
  // deadline. Returns false, and doesn't watch it, if it can be taken and there is news since
  // clear_news(). Throws std::system_error, and doesn't watch it either.
  bool watch(Watched& watched, std::uint32_t events, Deadline deadline, Takeable takeable);
  // Says that there is news for whoever waits with this socket. Returns whether the caller has it
  // now: it was watched and could be taken. The caller has to know that it exists.
  bool tell(Watched& watched);
  // Forgets everything about a socket that isn't watched and is going to be destroyed.
  void drop(Watched& watched);

 private:
  using Timers = std::set<std::pair<Deadline, Watched*>>;
  struct Slot {
    Watched* watched = nullptr;
    std::uint32_t armed = 0;  // the events for which epoll still waits
  };

  void run();
  void wake() const;
  int patience();
  void call_after_event(int fd);
  void call_those_in_time();
  void forget(Watched& watched);
  void arm(Watched& watched, std::uint32_t events);
  void set_timer(Watched& watched);

  const Call call_;
  const Descriptor epoll_;
  const Descriptor wake_;  // an eventfd
  std::mutex mutex_;
  // By descriptor. An event names a descriptor and not an object, because the object may be gone
  // when the event is looked at. So an event may be one of an earlier socket with this number.
  std::vector<Slot> slots_;
  // A socket that is given back before its deadline keeps its entry, because the next deadline is
  // rarely an earlier one: followers of a stream would else move an entry for each event. An entry
  // whose time has come too early is moved then.
  Timers timers_;
  Deadline wakes_at_ = Deadline::max();
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace berth::api
