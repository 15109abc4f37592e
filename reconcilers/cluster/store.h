#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "reconcilers/cluster/fields.h"

namespace berth::reconcilers {

// The pointer may be kept: an object that changes is replaced, never modified.
using ObjectPtr = std::shared_ptr<const Object>;

// The objects of one kind as the API server last reported them: from an informer's list and watch,
// and from the answers to our own writes. Those are included so that a loop never repeats a write
// just because the watch event of the first one hasn't arrived yet. Thread-safe.
class Store {
 public:
  // Null if there is no such object. Cluster-scoped objects have an empty namespace.
  ObjectPtr find(const std::string& name_space, const std::string& name) const;
  // The objects whose label berth/deployment has this value.
  std::vector<ObjectPtr> of_deployment(const std::string& id) const;
  std::vector<ObjectPtr> in_namespace(const std::string& name_space) const;
  std::vector<ObjectPtr> all() const;
  size_t size() const;

  // Takes an object from a watch. Returns false if nothing that we keep has changed: a newer
  // version was known, this very object has been deleted since, or only a quota's numbers changed.
  bool put(Object object);
  // Takes a deletion from a watch: the object was deleted, or has lost our labels. In the second
  // case it may come back.
  void erase(const Object& object);
  // Takes the API server's answer to a write of ours.
  void note(Object object);
  // Takes a complete list. Returns the objects that are new, changed or gone.
  std::vector<ObjectPtr> replace(std::vector<Object> objects, const std::string& resource_version);

 private:
  using SteadyClock = std::chrono::steady_clock;

  // For this long after a write, its answer may be newer than a list that was requested before the
  // write.
  static constexpr std::chrono::seconds noted_for{60};
  // The deletions that are remembered so that late answers about those objects are ignored. Writes
  // take seconds at most, and fewer objects than this are deleted in that time.
  static constexpr size_t max_deleted = 4096;

  bool put_locked(Object&& object);
  void set_locked(const std::string& key, ObjectPtr object);
  void erase_locked(const std::string& key);
  bool is_noted_locked(const std::string& key) const;

  mutable std::mutex mutex_;
  std::map<std::string, ObjectPtr> objects_;  // by namespace/name
  std::unordered_map<std::string, std::set<std::string>> keys_of_deployment_;
  std::unordered_map<std::string, SteadyClock::time_point> noted_;
  // By uid, the resourceVersion of the deletion.
  std::unordered_map<std::string, std::uint64_t> deleted_;
  std::deque<std::string> deleted_order_;
};

// Returns `object` without the parts that nothing here reads: other managers' fields, a pod's spec
// except for its node, a quota's status (which changes with every pod), and the private keys of
// certificates. Our own managed fields are kept as text (fieldsV1 in JSON). This is how a thousand
// deployments fit into 120 MB.
Object slimmed(Object object);

}  // namespace berth::reconcilers
