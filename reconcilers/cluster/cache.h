#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reconcilers/cluster/informer.h"

namespace berth::reconcilers {

// Whether the cluster can be talked to, for /health and /readyz.
struct ClusterState {
  bool connected = false;  // every kind could be listed or watched the last time
  bool synced = false;     // every kind was listed once: what the cache says can be acted on
  Instant since;           // of `connected`
  std::string last_error;  // empty while connected
  std::vector<InformerState> informers;
};

// An object and the kind that it is of.
struct Tracked {
  const kube::Resource* resource = nullptr;
  ObjectPtr object;
};

// Everything on the cluster that carries our labels, one informer for each kind. Thread-safe.
class Cache {
 public:
  // Called on informers' threads: be quick.
  struct Listener {
    // One of its objects, or a pod.
    std::function<void(const std::string& id, const Object& object)> deployment_changed;
    std::function<void(const std::string& app_id)>
        app_changed;                  // its namespace, or what stands in it for all
    std::function<void()> connected;  // a kind answers (again)
  };

  Cache(kube::Client& client, const std::string& label_selector, Listener listener);

  void start();
  void stop();  // waits for the informers

  // Whether each kind was listed once; stays so.
  bool synced() const;
  ClusterState state() const;
  InformerState state(const kube::Resource& resource) const;  // throws as store() does

  // False where the cluster has no such kind (cert-manager's), or doesn't let us see it.
  bool serves(const kube::Resource& resource) const;
  // Throws std::invalid_argument for a kind that isn't watched.
  Store& store(const kube::Resource& resource) const;
  // The object of the same kind, namespace and name; null where there is none.
  ObjectPtr find(const Object& like) const;
  void note(const Object& written);  // what a write of ours was answered with

  // All kinds that are served, pods too.
  std::vector<Tracked> of_deployment(const std::string& id) const;
  // The ids in the labels of everything that there is, of all kinds.
  std::vector<std::string> deployments() const;
  std::vector<std::string> deployments_in(const std::string& name_space) const;

 private:
  void changed(const Object& object) const;

  const Listener listener_;
  std::vector<std::unique_ptr<Informer>> informers_;
  mutable std::atomic<bool> synced_ = false;
};

}  // namespace berth::reconcilers
