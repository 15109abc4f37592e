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
  std::string plural;      // of its kind
  bool synced = false;     // it listed everything once
  bool served = true;      // false: the server has no such kind, or doesn't let us see it
  bool connected = false;  // the last try to list or watch went well
  Instant since;           // of `connected` being what it is
  Instant last_contact;    // of the last answer or event
  std::string last_error;  // the newest; empty where there was none
};

// Whether a cluster without the kind can be worked with: cert-manager may not be installed.
enum class Need { always, where_served };

// Keeps a Store of one kind, by label selector: a list, then a watch from there on for as long as
// the server lets it. Lists again where the history of the watch is gone (410); after other
// failures it backs off with jitter (kubernetes.io, "API Concepts", efficient detection of
// changes).
class Informer {
 public:
  struct Listener {
    // An object is new, changed or gone. Called on the informer's thread, without any lock.
    std::function<void(const Object&)> changed;
    // The server answers, for the first time or again; the store is up to date when it was a list.
    std::function<void()> connected;
  };
  // The first pause after a failure is short, since most are over at once; the longest is what a
  // repaired cluster keeps its tenants waiting.
  static constexpr std::chrono::milliseconds first_pause{100};
  static constexpr std::chrono::milliseconds longest_pause{5'000};
  // So often a watch may be refused before its version is doubted and all is listed again.
  static constexpr int max_refused_watches = 2;

  // How often a kind that isn't served is asked for again: somebody may install it.
  static constexpr std::chrono::milliseconds absence_pause{30'000};

  Informer(kube::Client& client, const kube::Resource& resource, Need need,
           std::string label_selector, Listener listener);

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
  void ask();
  void watch(const std::stop_token& stop);
  void take(kube::EventType type, const Object& object);
  void contact();
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

  // Of the thread alone.
  std::string version_;  // to watch from; empty: list first
  bool doubts_ = false;  // the server didn't answer the last time
  int failures_ = 0;     // one after the other
  std::optional<SteadyClock::time_point> watching_since_;
  int refused_watches_ = 0;
  std::minstd_rand random_{std::random_device{}()};

  mutable std::mutex mutex_;
  std::condition_variable_any stopping_;
  InformerState state_;

  std::jthread thread_;  // the last member: it ends before what it uses
};

}  // namespace berth::reconcilers
