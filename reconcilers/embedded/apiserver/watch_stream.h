#pragma once

#include "controller/transport/http.h"
#include "reconcilers/embedded/apiserver/selectors.h"
#include "reconcilers/embedded/apiserver/store.h"

namespace berth::embedded {

struct WatchRequest {
  std::string name_space;  // empty: all namespaces
  std::string version;  // resourceVersion; if it is empty or 0, the existing objects are sent first
  bool bookmarks = false;
  // The parameter sendInitialEvents: existing objects first, then a bookmark that marks their end.
  bool initial_events = false;
  std::chrono::milliseconds lasts{0};
  std::chrono::milliseconds bookmark_interval{0};
};

// One watch, which is written line by line
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).
class WatchStream {
 public:
  // Takes the store's lock. Throws Refusal 500 if the version isn't a number, as a real API server
  // does.
  WatchStream(Store& store, const Type& type, Selector selector, const WatchRequest& request);
  // Writes what there is.
  api::Next write(const api::Sink& sink);
  // Wakes whoever calls write().
  const std::shared_ptr<api::Waker>& waker() const { return waker_; }

 private:
  static constexpr size_t changes_at_once = 500;
  // The first bookmark comes early, so that nobody has to wait a minute to see that the stream
  // works.
  static constexpr std::chrono::milliseconds first_bookmark{1000};

  void write_initial(std::string& out);
  void write_change(const Change& change, std::string& out) const;
  void write_bookmark(std::string& out, bool end_of_initial) const;

  Store& store_;
  const Type& type_;
  Selector selector_;
  WatchRequest request_;
  const std::shared_ptr<api::Waker> waker_ = std::make_shared<api::Waker>();
  const Store::Wakes wakes_;
  Watch watch_{};
  std::vector<StoredPtr> initial_;
  bool initial_pending_ = false;
  std::chrono::steady_clock::time_point ends_;
  std::chrono::steady_clock::time_point next_bookmark_;
};

}  // namespace berth::embedded
