#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace berth {

// The threads that work through a queue which their owner has. They are started when work waits and
// none of them is free, and end when they had nothing to do for a while. The one that has become
// free last is called first, so that few threads do what few can do, and the others end. The
// owner's mutex guards this object together with the queue, so that no thread ends while work comes
// in.
class ThreadCrew {
 public:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  // A thread that had no work for this long ends.
  static constexpr std::chrono::milliseconds default_lifetime = std::chrono::seconds(10);
  static constexpr Clock::time_point now = Clock::time_point::min();
  static constexpr Clock::time_point never = Clock::time_point::max();

  struct Options {
    std::size_t most = 1;   // threads
    std::size_t kept = 0;   // of them never end
    std::string name = {};  // of each thread (`top -H`), in at most 15 characters
    std::chrono::milliseconds idle_lifetime = default_lifetime;
    // What a thread does. It is called once with the lock held, and returns with it held: when
    // rest() has returned false, or when the owner wants the threads to end.
    std::function<void(Lock& lock)> work = {};
    // Returns when there is work for one more thread: `now`, a time, or `never`. It is called with
    // the lock held. It is `now` also if the threads have to end.
    std::function<Clock::time_point()> next = {};
  };

  ThreadCrew(std::mutex& mutex, Options options);
  // Calls join().
  ~ThreadCrew();
  ThreadCrew(const ThreadCrew&) = delete;
  ThreadCrew& operator=(const ThreadCrew&) = delete;

  // Starts a thread, unless there are `most`. Needs the lock. Throws std::system_error or
  // std::bad_alloc if the system can't and there is no other.
  void start();
  // To be called after work has come in, or is due earlier than before. `ready` is how much can be
  // done now. Wakes a free thread or starts one; if the system can't start one, those that exist do
  // the work. Needs the lock, and doesn't wait. Returns false if there is no thread at all.
  bool call(std::size_t ready);
  // Waits for work, on one of the threads. Returns true if there is some, and false if the thread
  // should end. A thread that takes work while some is due later has to call() before it releases
  // the lock, because it may be the one that has waited for that time.
  bool rest(Lock& lock);
  // How many threads are free, and how many there are. They need the lock.
  std::size_t idle() const { return resting_.size() + called_; }
  std::size_t size() const { return threads_.size(); }

  // Returns when all threads have ended, for which the owner has told them that they have to. May
  // be called again. Doesn't need the lock.
  void join();

 private:
  using Threads = std::list<std::thread>;
  struct Resting {
    std::condition_variable changed;
    bool is_called = false;
  };

  void run(Threads::iterator self);
  void call_newest();

  std::mutex& mutex_;
  const Options options_;
  std::condition_variable all_ended_;
  std::vector<Resting*> resting_;      // the one that has rested for longest comes first
  std::size_t called_ = 0;             // how many were called and haven't looked for work yet
  Clock::time_point awaited_ = never;  // the earliest time for which one of them waits
  Threads threads_;
  Threads ended_;  // have ended and must be joined
};

}  // namespace berth
