#pragma once

#include <deque>
#include <map>

#include "reconcilers/embedded/apiserver/registry.h"

namespace berth::embedded {

// The field manager of all controllers that kube-controller-manager runs.
inline constexpr const char* controller_manager = "kube-controller-manager";

enum class EventType { normal, warning };

struct Happening {
  EventType type;
  std::string reason;
  std::string message;
  std::string container;  // empty: the event concerns the object as a whole
};

// Writes the Events in which controllers and kubelet report on objects. A repeated event increases
// the `count` of the first one. The caller must hold the store's mutex.
class EventRecorder {
 public:
  // A real API server deletes events after an hour; the simulated one keeps this many, and fewer
  // about objects that no longer exist.
  static constexpr size_t most_events = 5'000;
  static constexpr size_t most_about_deleted = 1'000;

  // `node` is the name of the node, which is the host of the kubelet's events.
  EventRecorder(Store& store, Registry& registry, std::string node)
      : store_(store), registry_(registry), node_(std::move(node)) {}

  // Takes over the events that are in the store.
  void adopt();
  // Records an event in client-go's form, which has count, firstTimestamp and lastTimestamp.
  void record(const Json& object, const std::string& component, const Happening& happening);
  // Records an event in the form of events.k8s.io, as the scheduler writes them, which has
  // eventTime and no count.
  void record_scheduling(const Json& pod, const std::string& action, const Happening& happening);

 private:
  Json skeleton(const Json& object, const Happening& happening);
  void store(Json event, size_t same);
  void forget_some();

  Store& store_;
  Registry& registry_;
  const std::string node_;
  std::map<size_t, Key> known_;  // by the hash of the texts that make two events the same
  struct Recorded {
    size_t same;
    Key key;
    std::string about;  // the object's uid
  };
  std::deque<Recorded> oldest_;
};

}  // namespace berth::embedded
