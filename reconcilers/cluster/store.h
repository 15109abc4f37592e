#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "reconcilers/cluster/fields.h"

namespace berth::reconcilers {

// The pointer may be kept: an object that changes is replaced, never modified.
using ObjectPtr = std::shared_ptr<const Object>;

// The objects of one kind as the API server last reported them: in an informer's list and watch,
// and in the answers to berth's own writes. The answers are included so that a loop never repeats a
// write just because the watch event of the first one hasn't arrived yet. Thread-safe.
//
// An object is kept as JSON text, which takes a sixth of the memory of a tree; those that were
// parsed last are kept as trees as well, for some seconds.
class Store {
 public:
  // Null if there is no such object. Cluster-scoped objects have an empty namespace.
  ObjectPtr find(const std::string& name_space, const std::string& name) const;
  // The objects whose label berth/deployment has this value.
  std::vector<ObjectPtr> of_deployment(const std::string& id) const;
  // The ids of the deployments that have an object here; the second function looks at one namespace
  // alone.
  std::set<std::string> deployments() const;
  std::set<std::string> deployments_in(const std::string& name_space) const;
  size_t size() const;
  // A number that is another one whenever the object is, apart from its resourceVersion; 0 if there
  // is no such object. Unlike the version, it stays while only the object's hidden parts change
  // (slimmed()).
  std::uint64_t revision(const std::string& name_space, const std::string& name) const;

  // Takes an object from a watch. Returns false if nothing that is kept has changed: a newer
  // version was known, this very object has been deleted since, or only a quota's numbers changed.
  bool put(Object object);
  // Takes a deletion from a watch: the object was deleted, or has lost berth's labels. In the
  // second case it may come back.
  void erase(const Object& object);
  // Takes the API server's answer to a write of berth's.
  void note(Object object);
  // Takes a complete list. Returns the objects that are new, changed or gone.
  std::vector<ObjectPtr> replace(std::vector<Object> objects, const std::string& resource_version);

  // Frees the trees that were made more than `trees_kept_for` ago, so that they take no memory
  // while nothing happens.
  void drop_old_trees();

 private:
  using SteadyClock = std::chrono::steady_clock;

  // For this long after a write, its answer may be newer than a list that was requested before the
  // write.
  static constexpr std::chrono::seconds noted_for{60};
  // The deletions that are remembered so that late answers about those objects are ignored. Writes
  // take seconds at most.
  static constexpr size_t max_deleted = 4096;
  static constexpr std::chrono::seconds deleted_for{60};  // how long they are remembered at least

  static constexpr size_t most_trees = 256;  // how many objects are also kept as trees at most
  static constexpr std::chrono::seconds trees_kept_for{5};

  struct Kept {
    std::string text;
    std::string uid;
    std::string version;
    std::string deployment;  // the label's value; may be empty
    std::uint64_t revision = 0;
    std::optional<SteadyClock::time_point> noted;
    mutable std::weak_ptr<const Object> tree;
  };

  bool put_locked(Object&& object);
  ObjectPtr set_locked(const std::string& key, Object&& object, std::uint64_t revision);
  void erase_locked(const std::string& key);
  ObjectPtr tree_locked(const Kept& kept) const;
  void remember_locked(const Kept& kept, const ObjectPtr& tree) const;

  mutable std::mutex mutex_;
  std::map<std::string, Kept> objects_;  // by namespace/name
  std::uint64_t last_revision_ = 0;
  std::unordered_map<std::string, std::set<std::string>> keys_of_deployment_;
  // The trees that were made last and when they were made, oldest first.
  mutable std::deque<std::pair<SteadyClock::time_point, ObjectPtr>> trees_;
  // The resourceVersion of each remembered deletion, by the object's uid.
  std::unordered_map<std::string, std::uint64_t> deleted_;
  std::deque<std::pair<SteadyClock::time_point, std::string>> deleted_order_;
};

// Returns `object` without the parts that nothing here reads: other managers' fields, a pod's spec
// except for its node, a Job's template, and the status of quotas and budgets (which changes with
// every pod). The
// managed fields of berth are kept as text (fieldsV1 in JSON).
Object slimmed(Object object);

}  // namespace berth::reconcilers
