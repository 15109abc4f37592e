#pragma once

#include "reconcilers/simulated/apiserver/registry.h"

namespace berth::simulated {

// Removes what nobody owns any more (https://kubernetes.io/docs/concepts/architecture/
// garbage-collection/), empties namespaces that end, and furnishes new ones. Needs the store's
// mutex.
class Collector {
 public:
  Collector(Store& store, Registry& registry) : store_(store), registry_(registry) {}

  // Looks after an object: one with owners that are all gone is removed; one that is being deleted
  // with its dependents (foreground) or without (orphan) gets on with it.
  void reconcile(const Key& key);
  // A namespace that ends loses its content and then goes; a new one gets its default service
  // account and the ConfigMap with the cluster's CA.
  void reconcile_namespace(const std::string& name);

 private:
  void remove(const Key& key);
  void release(const Key& dependent, const std::string& owner);
  void drop_finalizer(const Key& key, const std::string& finalizer);
  void furnish(const std::string& name);

  Store& store_;
  Registry& registry_;
};

}  // namespace berth::simulated
