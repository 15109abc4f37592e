#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "reconcilers/simulated/apiserver/fair_mutex.h"
#include "reconcilers/simulated/apiserver/types.h"

// Corresponds to etcd and the API server's watch cache: the objects, one counter of versions, and
// the recent changes of each kind.
namespace berth::simulated {

struct Key {
  Kind kind;
  std::string name_space;  // empty for cluster-scoped kinds
  std::string name;
  auto operator<=>(const Key&) const = default;
};

enum class ChangeType { added, modified, deleted };

struct Change {
  std::uint64_t version;
  ChangeType type;
  Key key;
  ObjectPtr object;    // after the change; if deleted: the last state, with `version`
  ObjectPtr previous;  // before the change; null if added
};

// How far a client has read the changes of one kind.
struct Watch {
  Kind kind;
  std::uint64_t position;         // all changes up to this version have been seen
  std::uint64_t drops = 0;        // the store's number of drops when the watch began
  std::uint64_t compactions = 0;  // the store's number of compactions when the watch began
};

enum class WatchState { open, expired, dropped, stopped };

// The objects are immutable once they are stored, so that readers can go on without the lock. All
// functions require that the caller holds `mutex()`, except for those that say that they take it.
class Store {
 public:
  // A watch may lag behind by this many changes of its kind; after that it gets 410 and has to list
  // again.
  static constexpr size_t history_limit = 10'000;

  FairMutex& mutex() { return mutex_; }

  // Null if there is no such object.
  ObjectPtr find(const Key& key) const;
  // Sorted by namespace and name, like etcd's keys. An empty `name_space` means all namespaces.
  std::vector<ObjectPtr> list(Kind kind, const std::string& name_space) const;
  size_t count(Kind kind, const std::string& name_space) const;
  // The objects that have an owner reference to `uid`.
  std::vector<Key> dependents(const std::string& uid) const;
  bool has_uid(const std::string& uid) const { return uids_.contains(uid); }

  // Stores the object with the next resourceVersion.
  ObjectPtr put(const Key& key, Json object);
  // Deletes the object, which must exist. Returns its last state.
  ObjectPtr erase(const Key& key);

  std::uint64_t version() const { return version_; }
  // The lowest version from which a watch of this kind can start.
  std::uint64_t compacted(Kind kind) const { return shelf(kind).compacted; }

  // A watch of the changes after `position`.
  Watch watch(Kind kind, std::uint64_t position) const;
  // Takes the lock. Waits until there are changes, the watch ends, or the time is `until`. Appends
  // at most `limit` changes to `changes`.
  WatchState next(Watch& watch, std::chrono::steady_clock::time_point until, size_t limit,
                  std::vector<Change>& changes);

  // Forgets all changes up to now: open watches end with 410, and so do watches that start from an
  // earlier version.
  void compact();
  // Ends all open watches, as if their connections had broken.
  void drop_watches();
  // Takes the lock. Ends all watches for good and wakes the controllers.
  void stop();
  bool stopped() const { return stopped_; }

  // For the controllers: returns the changes since the last call, for which it waits until `until`.
  // `lock` holds the mutex.
  std::vector<Change> take_changes(Lock& lock, std::chrono::steady_clock::time_point until);

 private:
  using Name = std::pair<std::string, std::string>;
  struct Shelf {
    std::map<Name, ObjectPtr> objects;
    std::deque<Change> history;
    std::uint64_t compacted = 0;
    std::condition_variable_any changed;
  };

  Shelf& shelf(Kind kind) { return shelves_.at(static_cast<size_t>(kind)); }
  const Shelf& shelf(Kind kind) const { return shelves_.at(static_cast<size_t>(kind)); }
  void record(Change change);
  void index(const Key& key, const ObjectPtr& before, const ObjectPtr& after);
  void wake_watches();

  mutable FairMutex mutex_;
  std::array<Shelf, static_cast<size_t>(Kind::leases) + 1> shelves_;
  std::map<std::string, std::set<Key>> dependents_;  // by the owner's uid
  std::set<std::string> uids_;
  std::uint64_t version_ = 0;
  std::uint64_t drops_ = 0;
  std::uint64_t compactions_ = 0;
  bool stopped_ = false;
  std::vector<Change> unread_;
  std::condition_variable_any unread_changed_;
};

}  // namespace berth::simulated
