#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "controller/base/clock.h"
#include "reconcilers/cluster/store.h"
#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

struct InformerState {
  std::string plural;      // the plural of the kind, such as "deployments"
  bool synced = false;     // every object was listed at least once
  bool served = true;      // false: the server doesn't have this kind, or doesn't let berth read it
  bool connected = false;  // the server answered, and no two failures in a row have followed
  Instant since;           // when `connected` took its present value
  Instant last_contact;    // when the server last answered or sent an event
  // Until when the store has certainly followed the server: its last list, event or bookmark, or
  // the end of a watch that ended well.
  Instant in_step_until;
  std::string last_error;  // the newest one; empty if there was none
};

// Whether a kind has to exist for the cache to become complete. cert-manager's kinds need not
// exist.
enum class Need { always, where_served };

// Keeps a Store of the objects of one kind that match a label selector: it lists them, then watches
// from that version on for as long as the server allows. If the server no longer has the history
// that the watch needs (410), it lists again; after other failures it backs off with jitter
// (kubernetes.io, "API Concepts", "Efficient detection of changes"). The public functions are
// thread-safe.
class Informer {
 public:
  struct Listener {
    // An object was added, changed or removed. Called on the informer's thread, with no lock held.
    std::function<void(const Object&)> changed;
    // The server answered, for the first time or again after a failure. After a list the store is
    // up to date at this point.
    std::function<void()> connected;
    // An object is gone, and was certainly there at `last_seen`; called before `changed` is called
    // for it. An object that has lost the selector's labels counts as gone. May be empty.
    std::function<void(const Object&, Instant last_seen)> gone = {};
  };
  // The first pause after a failure is short, because most failures are over at once. The longest
  // pause is how long tenants may have to wait after a broken cluster has been repaired.
  static constexpr std::chrono::milliseconds first_pause{100};
  static constexpr std::chrono::milliseconds longest_pause{5'000};
  // After this many refused watches in a row, the version to watch from is no longer trusted and
  // everything is listed again.
  static constexpr int max_refused_watches = 2;

  // How often a kind that the cluster doesn't serve is asked for again, since it may be installed
  // later.
  static constexpr std::chrono::milliseconds absence_pause{30'000};

  // Calls the listener's functions on its own thread. Makes no request before start().
  Informer(kube::Client& client, const kube::Resource& resource, Need need,
           std::string label_selector, Listener listener);

  // Stop with request_stop(), which returns at once, followed by join().
  void start();
  void request_stop() { thread_.request_stop(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  Store& store() { return store_; }
  const kube::Resource& resource() const { return resource_; }
  InformerState state() const;

 private:
  using SteadyClock = std::chrono::steady_clock;

  void run(const std::stop_token& stop);
  void list();
  void tell(const Object& object, Instant last_seen) const;
  void ask();
  void watch(const std::stop_token& stop);
  void take(kube::EventType type, const Object& object);
  void contact();
  void in_step_until(Instant at);
  bool means_absence(const kube::ApiError& error) const;
  void miss(const kube::ApiError& error);
  void count_failure(const std::string& error);
  void pause(const std::stop_token& stop);
  void wait(const std::stop_token& stop, std::chrono::milliseconds pause);

  kube::Client& client_;
  const kube::Resource resource_;
  const Need need_;
  const kube::ListOptions options_;
  const Listener listener_;
  Store store_;

  // Used by the informer's thread only.
  std::string version_;  // the resourceVersion to watch from; empty: list first
  bool doubts_ = false;  // the last request failed, so it is unknown whether the server answers
  int failures_ = 0;     // consecutive failures
  // Until when the store followed the server before that couldn't be reached; until the watch
  // certainly has sent what has happened since. Its events may be as old.
  std::optional<Instant> seen_before_outage_;
  std::optional<SteadyClock::time_point> watching_since_;
  int refused_watches_ = 0;
  std::minstd_rand random_{std::random_device{}()};

  mutable std::mutex mutex_;
  std::condition_variable_any stopping_;
  InformerState state_;

  std::jthread thread_;  // last: joined before the members that it uses are destroyed
};

}  // namespace berth::reconcilers
