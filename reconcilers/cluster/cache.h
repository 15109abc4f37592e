#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reconcilers/cluster/informer.h"

namespace berth::reconcilers {

// Whether the cluster can be reached; the source of /health and /readyz.
struct ClusterState {
  bool connected = false;  // no kind has failed twice in a row
  // Every kind has been listed at least once, so the cache is complete enough to act on.
  bool synced = false;
  Instant since;           // when `connected` took its present value
  std::string last_error;  // empty while connected
  std::vector<InformerState> informers;
};

// An object together with the kind that it belongs to.
struct Tracked {
  const kube::Resource* resource = nullptr;
  ObjectPtr object;
};

// All objects on the cluster that have berth's labels, except Secrets, kept up to date by one
// informer for each kind. Thread-safe.
class Cache {
 public:
  // The callbacks run on the informers' threads, so they must return quickly.
  struct Listener {
    // An object with this deployment's label was added, changed or removed; pods are included.
    std::function<void(const std::string& id, const Object& object)> deployment_changed;
    // The namespace of an app, or an object that its deployments share, was added, changed or
    // removed.
    std::function<void(const std::string& app_id)> app_changed;
    // An informer reached the cluster for the first time, or again after a failure.
    std::function<void()> connected;
    // A pod is gone, and was certainly there at `last_seen`. May be empty.
    std::function<void(const Object& pod, Instant last_seen)> pod_left = {};
  };

  // Will watch the objects that match `label_selector`. Makes no request before start().
  Cache(kube::Client& client, const std::string& label_selector, Listener listener);

  // Starts the informers' threads and returns at once.
  void start();
  void stop();  // returns when all informers have ended

  // Whether every kind has been listed at least once. Once true, it stays true.
  bool synced() const;
  ClusterState state() const;
  InformerState state(const kube::Resource& resource) const;  // throws like store()

  // Returns false if the cluster doesn't have this kind (cert-manager may not be installed) or
  // doesn't allow berth to read it, and for a kind that isn't watched.
  bool serves(const kube::Resource& resource) const;
  // Throws std::invalid_argument for a kind that isn't watched.
  Store& store(const kube::Resource& resource) const;
  // The cached object of the same kind, namespace and name as `like`; null if there is none.
  ObjectPtr find(const Object& like) const;
  // Stores the API server's answer to a write of berth's, so that the next reconcile sees it before
  // its watch event arrives.
  void note(const Object& written);

  // The objects with this deployment's label, of all kinds that the cluster serves, including pods.
  std::vector<Tracked> of_deployment(const std::string& id) const;
  // The ids of all deployments that have an object of any kind in the cache; the second function
  // looks at one namespace alone.
  std::vector<std::string> deployments() const;
  std::vector<std::string> deployments_in(const std::string& name_space) const;

  // To be called about every second: frees what is only kept while much happens.
  void drop_old_trees();

 private:
  void changed(const Object& object) const;

  const Listener listener_;
  std::vector<std::unique_ptr<Informer>> informers_;
  mutable std::atomic<bool> synced_ = false;
};

}  // namespace berth::reconcilers
