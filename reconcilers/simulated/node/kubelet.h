#pragma once

#include "reconcilers/simulated/node/container.h"

namespace berth::simulated {

// Scheduler and kubelet of the one node: takes pods from their creation to their end. Needs the
// store's mutex.
class Kubelet {
 public:
  static constexpr const char* node_name = "simulated";
  static constexpr const char* node_address = "10.0.0.1";

  explicit Kubelet(Node& node) : node_(node) {}

  // Does what is due for the pod, and returns when to look again.
  std::optional<Moment> reconcile(const Key& key, Moment now);
  void forget(const std::string& uid) { pods_.erase(uid); }
  // The log of a container (empty: the only one) of the pod. Throws Refusal.
  PodLog log(const Json& pod, const std::string& container, bool previous) const;
  // Of one run of it.
  PodLog run_log(const Json& pod, const std::string& container, int run) const;

 private:
  struct PodRun {
    std::optional<Moment> placed_at;   // when the scheduler looks at it
    std::optional<Moment> stopped_at;  // when its containers are gone
    std::string started_at;
    std::string ip;
    std::map<std::string, Container> containers;
  };

  std::optional<Moment> schedule(const Key& key, const Json& pod, PodRun& run, Moment now);
  std::optional<Moment> advance(const Key& key, const Json& pod, PodRun& run, Moment now);
  std::optional<Moment> stop(const Key& key, const Json& pod, PodRun& run, Moment now);
  Json status_of(const Json& pod, const PodRun& run) const;
  std::string next_address();
  // Throws Refusal. Null where the node doesn't have the container yet.
  const Container* container_of(const Json& pod, const Json& spec) const;
  static const Json& spec_of(const Json& pod, const std::string& container);

  Node& node_;
  std::map<std::string, PodRun> pods_;  // by uid
  std::uint32_t addresses_ = 0;
};

}  // namespace berth::simulated
