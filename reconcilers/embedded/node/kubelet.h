#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/embedded/node/container.h"

namespace berth::embedded {

// The scheduler, and the kubelet of the only node: takes pods from their creation to their end. The
// caller must hold the store's mutex.
class Kubelet {
 public:
  explicit Kubelet(Node& node);

  // To be called once, before the others: takes the pods over that are in the store, and has what
  // the runtime has of other pods removed.
  void adopt(Moment now);
  // Does what is due for the pod. Returns when to look at it again.
  std::optional<Moment> reconcile(const Key& key, Moment now);
  // The pod was deleted.
  void forget(const Json& pod);
  // A NetworkPolicy of the namespace has changed; the namespace was deleted.
  void policies_changed(const std::string& name_space);
  void namespace_deleted(const std::string& name);

  // The run of one container of the pod (empty: the only one) whose log is wanted. Throws Refusal.
  Run logged_run(const Json& pod, const std::string& container, bool previous) const;
  // The run of a container of the pod; nothing if none runs.
  std::optional<Run> running_run(const Json& pod, const std::string& container) const;
  // What the container uses; nothing if it doesn't run or isn't measured.
  std::optional<Usage> usage(const Json& pod, const Json& spec) const;
  // Where a port of the pod is reached from this machine.
  std::optional<std::string> address(const Json& pod, int port) const;
  Runtime& runtime() const { return node_.runtime; }

 private:
  // What the containers of a pod request.
  struct Requests {
    std::int64_t cpu_millicores = 0;
    std::int64_t memory_bytes = 0;
    bool operator==(const Requests&) const = default;
  };
  struct PodRun {
    std::optional<Moment> placed_at;   // when the scheduler places the pod
    std::optional<Moment> disk_look;   // when its use of the disk is looked at again
    std::optional<Moment> tokens_due;  // when its tokens are written again
    bool has_tokens = false;           // they have been written, or it has none
    std::string started_at;
    std::optional<Moment> began;  // the same
    std::string ip;
    std::string evicted;  // the reason, if the pod was evicted and is ending
    Requests requests;    // once it is on the node
    std::string no_room;  // why it can't have what it requests now; empty if it has it
    std::map<std::string, Container> containers;
  };

  static Requests requests_of(const Json& pod);
  std::string no_room_for(const Json& pod) const;
  // Why the node hasn't these requests beside those of its pods, but for the one with this uid.
  std::string no_room_beside(const std::string& uid, const Requests& wanted) const;
  // Takes what a pod on the node has come to request, if there is room for it.
  void take_requests(const Json& pod, PodRun& run) const;
  std::optional<Moment> schedule(const Key& key, const Json& pod, PodRun& run, Moment now);
  std::optional<Moment> advance(const Key& key, const Json& pod, PodRun& run, Moment now);
  // Writes the pod's tokens if they are due, and records FailedMount if that fails; until they have
  // been written once, no container is started. Returns when they are due again; nothing if the pod
  // has none.
  std::optional<Moment> write_tokens(const Json& pod, PodRun& run, Moment now);
  std::optional<Moment> evict(const Key& key, const Json& pod, PodRun& run, Moment now);
  // Ends a pod that has been active for longer than its deadline; the pod stays.
  std::optional<Moment> expire(const Key& key, const Json& pod, PodRun& run, Moment now);
  // When the pod has been active for too long; nothing without activeDeadlineSeconds.
  std::optional<Moment> deadline_of(const Json& pod, const PodRun& run) const;
  std::optional<Moment> stop(const Key& key, const Json& pod, PodRun& run, Moment now);
  // Ends all containers. Returns nothing once they have ended, and otherwise when to look again.
  std::optional<Moment> end(const Json& pod, PodRun& run, std::chrono::milliseconds grace,
                            Container::Ending ending, Moment now);
  bool strangers_are_gone(Moment now);
  std::string excess(const Json& pod, PodRun& run, Moment now) const;
  void write(const Key& key, const Json& pod, Json status);
  static void set_resize_conditions(Json& conditions, const PodRun& run);
  Json status_of(const Json& pod, const PodRun& run) const;
  const PodRun* find(const Json& pod) const;
  // The spec of one container (empty: the only one). Throws Refusal if the pod doesn't have it.
  static const Json& spec_of(const Json& pod, const std::string& container);

  Node& node_;
  const NodeInfo info_;
  std::map<std::string, PodRun> pods_;  // by uid
  std::vector<Run> strangers_;          // runs of pods that don't exist, which are being removed
  Moment strangers_until_;              // how long new containers wait for that
};

}  // namespace berth::embedded
