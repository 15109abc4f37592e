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

// What etcd and the watch cache are to an API server: the objects, one counter of versions, and the
// recent changes of each kind.
namespace berth::simulated {

struct Key {
  Kind kind;
  std::string name_space;  // empty for kinds of the cluster
  std::string name;
  auto operator<=>(const Key&) const = default;
};

enum class ChangeType { added, modified, deleted };

struct Change {
  std::uint64_t version;
  ChangeType type;
  Key key;
  ObjectPtr object;    // after the change; of a deleted one: its last state, with `version`
  ObjectPtr previous;  // before the change; empty for an added one
};

// How far somebody has read in the changes of one kind.
struct Watch {
  Kind kind;
  std::uint64_t position;         // the version up to which everything was seen
  std::uint64_t drops = 0;        // of the store when the watch began
  std::uint64_t compactions = 0;  // likewise
};

enum class WatchState { open, expired, dropped, stopped };

// Objects are immutable once stored, so that readers can go on without the lock. All functions need
// the caller to hold `mutex()`, except those that say that they take it.
class Store {
 public:
  // Watches lag at most this many changes of their kind; then they get 410 and list again.
  static constexpr size_t history_limit = 10'000;

  FairMutex& mutex() { return mutex_; }

  ObjectPtr find(const Key& key) const;
  // In the order of namespace and name, as etcd's keys have it. Empty `name_space`: all of them.
  std::vector<ObjectPtr> list(Kind kind, const std::string& name_space) const;
  size_t count(Kind kind, const std::string& name_space) const;
  // The objects with an owner reference to `uid`.
  std::vector<Key> dependents(const std::string& uid) const;
  bool has_uid(const std::string& uid) const { return uids_.contains(uid); }

  // Stores the object with the next resourceVersion.
  ObjectPtr put(const Key& key, Json object);
  // Needs the object to exist.
  ObjectPtr erase(const Key& key);

  std::uint64_t version() const { return version_; }
  // The lowest version from which a watch of the kind can start.
  std::uint64_t compacted(Kind kind) const { return shelf(kind).compacted; }

  // A watch that continues after `position`.
  Watch watch(Kind kind, std::uint64_t position) const;
  // Takes the lock. Waits until there are changes, `until` or the end of the watch. Changes are
  // appended to `changes`, at most `limit` at a time.
  WatchState next(Watch& watch, std::chrono::steady_clock::time_point until, size_t limit,
                  std::vector<Change>& changes);

  // Forgets the changes up to now: an open watch ends with 410, and so does one that starts
  // earlier.
  void compact();
  // Ends all open watches, as a broken connection does.
  void drop_watches();
  // Takes the lock. Ends all watches for good and wakes the controllers.
  void stop();
  bool stopped() const { return stopped_; }

  // For the controllers: what changed since the last call; waits until there is something or
  // `until`. `lock` holds the mutex.
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
