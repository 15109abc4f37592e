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

namespace berth::reconcilers {

// Keys that wait to be worked on (after client-go, util/workqueue). A key is in the queue once,
// however often it is added. A key that is added while somebody works on it comes again when that
// one is done: no two workers ever hold the same key. Thread-safe.
class WorkQueue {
 public:
  using SteadyClock = std::chrono::steady_clock;
  using Wait = std::chrono::milliseconds;

  // Back-off per key: 5 ms, 10 ms, 20 ms, … as in controller-runtime; the longest is short enough
  // that a deployment comes back by itself soon after its trouble is over.
  static constexpr Wait first_back_off{5};
  static constexpr Wait longest_back_off = std::chrono::minutes(5);

  // What metrics are made of; each may be empty. Called with the queue's lock held: be quick.
  struct Observer {
    std::function<void()> added;
    std::function<void()> retried;                              // add_rate_limited
    std::function<void(std::chrono::duration<double>)> waited;  // from the add to the worker
    std::function<void(std::chrono::duration<double>)> worked;  // from the worker to done()
  };

  explicit WorkQueue(Observer observer = {},
                     std::function<SteadyClock::time_point()> now = SteadyClock::now);

  void add(const std::string& key);
  // Once `wait` is over. Where the key is to come sooner anyway, that stays. What was asked for
  // before a worker takes the key is settled by that worker.
  void add_after(const std::string& key, Wait wait);
  // After the key's back-off, which doubles each time until forget().
  void add_rate_limited(const std::string& key);
  void forget(const std::string& key);
  int retries(const std::string& key) const;

  // The next key, which the caller holds until done(). Waits for one; nothing after shut_down().
  std::optional<std::string> get();
  // The next key, if there is one right now.
  std::optional<std::string> try_get();
  void done(const std::string& key);

  // From now on nobody is given a key and nothing is added. Keys that are held stay so until
  // done().
  void shut_down();
  // Waits until no key is held; false if that takes longer than `limit`.
  bool drain(Wait limit);

  size_t depth() const;  // that could be taken right now, or are held and wait to come again
  // How long the keys that are held now have been, together; and the longest of them.
  std::chrono::duration<double> unfinished() const;
  std::chrono::duration<double> longest_running() const;

 private:
  using TimePoint = SteadyClock::time_point;

  void add_locked(const std::string& key);
  void wait_locked(const std::string& key, TimePoint due);
  void stop_waiting_locked(const std::string& key);
  void move_due_locked();
  std::optional<std::string> take_locked();

  const Observer observer_;
  const std::function<TimePoint()> now_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable drained_;
  bool shut_down_ = false;
  std::deque<std::string> ready_;
  std::unordered_map<std::string, TimePoint> dirty_;       // to be worked on, and since when
  std::unordered_map<std::string, TimePoint> processing_;  // held, and since when
  std::set<std::pair<TimePoint, std::string>> by_due_;
  std::unordered_map<std::string, TimePoint> due_;
  std::unordered_map<std::string, int> failures_;
};

}  // namespace berth::reconcilers
