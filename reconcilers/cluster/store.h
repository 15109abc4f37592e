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

using ObjectPtr = std::shared_ptr<const Object>;

// The objects of one kind as the API server has them, a moment ago: what an informer knows, and
// what our own writes were answered with, so that a loop never acts twice because its own write has
// not come back yet. Thread-safe.
class Store {
 public:
  ObjectPtr find(const std::string& name_space, const std::string& name) const;
  std::vector<ObjectPtr> of_deployment(
      const std::string& id) const;  // by the label berth/deployment
  std::vector<ObjectPtr> in_namespace(const std::string& name_space) const;
  std::vector<ObjectPtr> all() const;
  size_t size() const;

  // From a watch. False where nothing is new in what we keep: a newer version was known, or this
  // very object was deleted since, or only the numbers of a quota changed.
  bool put(Object object);
  // From a watch: the object was deleted, or has lost our labels and may get them back.
  void erase(const Object& object);
  // The answer to a write of ours.
  void note(Object object);
  // From a list: everything that there is. Returns what is new, changed or gone.
  std::vector<ObjectPtr> replace(std::vector<Object> objects, const std::string& resource_version);

 private:
  using SteadyClock = std::chrono::steady_clock;

  // An answer to a write may be newer than a list that was asked for before it.
  static constexpr std::chrono::seconds noted_for{60};
  // Deleted objects whose late answers are to be ignored. Writes take seconds at the most, and
  // nobody deletes more than this in that time.
  static constexpr size_t max_deleted = 4096;

  bool put_locked(Object&& object);
  void set_locked(const std::string& key, ObjectPtr object);
  void erase_locked(const std::string& key);
  bool is_noted_locked(const std::string& key) const;

  mutable std::mutex mutex_;
  std::map<std::string, ObjectPtr> objects_;  // by namespace/name
  std::unordered_map<std::string, std::set<std::string>> keys_of_deployment_;
  std::unordered_map<std::string, SteadyClock::time_point> noted_;
  std::unordered_map<std::string, std::uint64_t> deleted_;  // by uid: the version of the deletion
  std::deque<std::string> deleted_order_;
};

// `object` without what nobody here reads: the managed fields of others, what a pod was asked to be
// but its node, the numbers of quotas, which change with each pod, and the private keys of
// certificates. Our own managed fields are kept as text (fieldsV1, as JSON): a thousand deployments
// are to fit into 120 MB.
Object slimmed(Object object);

}  // namespace berth::reconcilers
