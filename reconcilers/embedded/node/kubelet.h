#pragma once

#include "reconcilers/embedded/node/container.h"

namespace berth::embedded {

// The scheduler, and the kubelet of the only node: takes pods from their creation to their end. The
// caller must hold the store's mutex.
class Kubelet {
 public:
  static constexpr const char* node_name = "simulated";
  static constexpr const char* node_address = "10.0.0.1";

  explicit Kubelet(Node& node) : node_(node) {}

  // Does what is due for the pod. Returns when to look at it again.
  std::optional<Moment> reconcile(const Key& key, Moment now);
  void forget(const std::string& uid) { pods_.erase(uid); }
  // The log of one container of the pod (empty: the only one). Throws Refusal.
  PodLog log(const Json& pod, const std::string& container, bool previous) const;
  // The log of one run of the container.
  PodLog run_log(const Json& pod, const std::string& container, int run) const;

 private:
  struct PodRun {
    std::optional<Moment> placed_at;   // when the scheduler places the pod
    std::optional<Moment> stopped_at;  // when its containers will have ended
    std::string started_at;
    std::string ip;
    std::map<std::string, Container> containers;
  };

  std::optional<Moment> schedule(const Key& key, const Json& pod, PodRun& run, Moment now);
  std::optional<Moment> advance(const Key& key, const Json& pod, PodRun& run, Moment now);
  std::optional<Moment> stop(const Key& key, const Json& pod, PodRun& run, Moment now);
  Json status_of(const Json& pod, const PodRun& run) const;
  std::string next_address();
  // Returns null if the node hasn't created the container yet.
  const Container* container_of(const Json& pod, const Json& spec) const;
  // The spec of one container (empty: the only one). Throws Refusal if the pod doesn't have it.
  static const Json& spec_of(const Json& pod, const std::string& container);

  Node& node_;
  std::map<std::string, PodRun> pods_;  // by uid
  std::uint32_t addresses_ = 0;
};

}  // namespace berth::embedded
