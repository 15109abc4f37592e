#pragma once

#include <deque>
#include <map>

#include "reconcilers/simulated/apiserver/registry.h"

namespace berth::simulated {

enum class EventType { normal, warning };

struct Happening {
  EventType type;
  std::string reason;
  std::string message;
  std::string container;  // empty: the object as a whole
};

// Writes the Events that controllers and kubelet tell about objects. One that repeats is counted in
// the first one's `count`. Needs the store's mutex.
class EventRecorder {
 public:
  // The API server forgets events after an hour; the simulated one keeps this many.
  static constexpr size_t most_events = 20'000;

  EventRecorder(Store& store, Registry& registry) : store_(store), registry_(registry) {}

  // In the shape of client-go's events: count, firstTimestamp, lastTimestamp.
  void record(const Json& object, const std::string& component, const Happening& happening);
  // In the shape of events.k8s.io, as the scheduler writes them: eventTime, no count.
  void record_scheduling(const Json& pod, const std::string& action, const Happening& happening);

 private:
  Json skeleton(const Json& object, const Happening& happening);
  void store(Json event, const std::string& same);

  Store& store_;
  Registry& registry_;
  std::map<std::string, Key> known_;  // by what makes two events the same
  std::deque<std::pair<std::string, Key>> oldest_;
};

}  // namespace berth::simulated
