#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "controller/base/thread_crew.h"

namespace berth::reconcilers {

// A queue of keys to be worked on, after client-go's util/workqueue, and the threads that do so. A
// key is in the queue at most once, however often it is added. A key that is added while a worker
// holds it comes up again once that worker calls done(), so no two workers ever hold the same key.
// Thread-safe.
class WorkQueue {
 public:
  using SteadyClock = std::chrono::steady_clock;
  using Wait = std::chrono::milliseconds;

  // Back-off for each key: 5 ms, 10 ms, 20 ms and so on, as in controller-runtime. The longest
  // back-off is short enough that a deployment recovers soon after its problem is gone.
  static constexpr Wait first_back_off{5};
  static constexpr Wait longest_back_off = std::chrono::minutes(5);
  // A proxy's page during its maintenance may ask for an hour, and the API server is back before
  // that.
  static constexpr std::chrono::seconds longest_asked{30};

  // Callbacks from which metrics are made; each may be empty. They run with the queue's lock held,
  // so they must return quickly.
  struct Observer {
    std::function<void()> added;
    std::function<void()> retried;  // add_rate_limited() was called
    // The time from add() until a worker took the key.
    std::function<void(std::chrono::duration<double>)> waited;
    std::function<void(std::chrono::duration<double>)> worked;  // the time from then until done()
  };

  // `now` is the clock by which delays are measured; tests pass another one.
  explicit WorkQueue(Observer observer = {},
                     std::function<SteadyClock::time_point()> now = SteadyClock::now);
  ~WorkQueue();  // calls stop()
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Calls `handle` with each key from now on, and done() afterwards, on at most `most` threads of
  // this name (15 characters at most). They are started when keys wait and none is free, and end
  // when there was nothing to do for a while, except for one. `handle` must not throw. Throws
  // std::system_error if no thread can be started. Call it once.
  void serve(const std::string& name, std::size_t most,
             std::function<void(const std::string&)> handle);
  // Adds the key to be worked on as soon as a worker is free. Never blocks.
  void add(const std::string& key);
  // Adds the key once `wait` has passed. If the key is already due earlier, the earlier time stays.
  // A worker that takes the key cancels all pending delays of it.
  void add_after(const std::string& key, Wait wait);
  // Adds the key after its back-off, which doubles with each call until forget() resets it.
  void add_rate_limited(const std::string& key);
  // Adds the key after what an answer has asked for by Retry-After, but no later than
  // longest_asked; after its back-off if none has asked for anything.
  void retry(const std::string& key, const std::optional<std::chrono::seconds>& asked);
  void forget(const std::string& key);
  int retries(const std::string& key) const;

  // Waits for the next key, which the caller then holds until done(). Returns nothing after
  // shut_down().
  std::optional<std::string> get();
  // The next key if one is ready at this moment; nothing otherwise. Never waits.
  std::optional<std::string> try_get();
  void done(const std::string& key);

  // From now on no key is handed out and none is added. Keys that are held stay held until done().
  void shut_down();
  // Calls shut_down(), and returns when the calls of `handle` that were under way have ended.
  void stop();
  // Waits until no key is held. Returns false if that takes longer than `limit`.
  bool drain(Wait limit);

  // The number of keys that are ready, or that are held and have been added again.
  size_t depth() const;
  // How long the keys that are held now have been held: the sum over all of them, and the longest.
  std::chrono::duration<double> unfinished() const;
  std::chrono::duration<double> longest_running() const;

 private:
  using TimePoint = SteadyClock::time_point;

  void add_locked(const std::string& key);
  void wait_locked(const std::string& key, TimePoint due);
  void stop_waiting_locked(const std::string& key);
  void move_due_locked();
  std::optional<std::string> take_locked();
  void call_locked();
  TimePoint next_locked() const;
  void work(ThreadCrew::Lock& lock);

  const Observer observer_;
  const std::function<TimePoint()> now_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable drained_;
  bool shut_down_ = false;
  std::deque<std::string> ready_;
  std::unordered_map<std::string, TimePoint> dirty_;       // keys to be worked on, and since when
  std::unordered_map<std::string, TimePoint> processing_;  // keys that are held, and since when
  std::set<std::pair<TimePoint, std::string>> by_due_;
  std::unordered_map<std::string, TimePoint> due_;
  std::unordered_map<std::string, int> failures_;
  std::function<void(const std::string&)> handle_;
  std::optional<ThreadCrew> crew_;  // last: its threads use the members above
};

}  // namespace berth::reconcilers
