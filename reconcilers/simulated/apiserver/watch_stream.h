#pragma once

#include <httplib.h>

#include "reconcilers/simulated/apiserver/selectors.h"
#include "reconcilers/simulated/apiserver/store.h"

namespace berth::simulated {

struct WatchRequest {
  std::string name_space;  // empty: all
  std::string version;     // resourceVersion; empty or 0: the objects that there are come first
  bool bookmarks = false;
  bool initial_events = false;  // sendInitialEvents: those objects, then a bookmark that says so
  std::chrono::milliseconds lasts{0};
  std::chrono::milliseconds bookmark_interval{0};
};

// One watch, written line by line
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).
class WatchStream {
 public:
  // Takes the store's lock. Throws Refusal 500, as the real one, where the version isn't a
  // number.
  WatchStream(Store& store, const Type& type, Selector selector, const WatchRequest& request);
  // Writes what there is, waiting for it a moment. False: the connection ends at once.
  bool write(httplib::DataSink& sink);

 private:
  // How soon a client that went away is noticed.
  static constexpr std::chrono::milliseconds tick{250};
  static constexpr size_t changes_at_once = 500;
  // The first bookmark comes early, so that nobody waits a minute to see that the stream lives.
  static constexpr std::chrono::milliseconds first_bookmark{1000};

  bool wanted(const Json& object) const;
  void write_initial(std::string& out);
  void write_change(const Change& change, std::string& out) const;
  void write_bookmark(std::string& out, bool end_of_initial) const;

  Store& store_;
  const Type& type_;
  Selector selector_;
  WatchRequest request_;
  Watch watch_{};
  std::vector<ObjectPtr> initial_;
  bool initial_pending_ = false;
  std::chrono::steady_clock::time_point ends_;
  std::chrono::steady_clock::time_point next_bookmark_;
};

}  // namespace berth::simulated
