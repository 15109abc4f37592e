#pragma once

#include "reconcilers/embedded/apiserver/registry.h"

namespace berth::embedded {

// Deletes objects that no longer have an owner
// (https://kubernetes.io/docs/concepts/architecture/garbage-collection/), empties namespaces that
// are being deleted, and fills new ones. The caller must hold the store's mutex.
class Collector {
 public:
  Collector(Store& store, Registry& registry) : store_(store), registry_(registry) {}

  // Processes one object: deletes it if all its owners are gone, and continues its deletion if that
  // includes its dependents (foreground) or releases them (orphan).
  void reconcile(const Key& key);
  // Deletes the contents of a namespace that is being deleted, and then the namespace. Gives a new
  // namespace its default service account and the ConfigMap with the cluster's CA.
  void reconcile_namespace(const std::string& name);

 private:
  void remove(const Key& key);
  void release(const Key& dependent, const std::string& owner);
  void drop_finalizer(const Key& key, const std::string& finalizer);
  void furnish(const std::string& name);

  Store& store_;
  Registry& registry_;
};

}  // namespace berth::embedded
