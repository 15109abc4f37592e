#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "controller/transport/http.h"
#include "reconcilers/embedded/apiserver/disk.h"
#include "reconcilers/embedded/apiserver/fair_mutex.h"
#include "reconcilers/embedded/apiserver/key.h"
#include "reconcilers/embedded/apiserver/quota_usage.h"
#include "reconcilers/embedded/apiserver/types.h"

// Corresponds to etcd and the API server's watch cache: the objects, one counter of versions, and
// the recent changes of each kind.
namespace berth::embedded {

enum class ChangeType { added, modified, deleted };

// One version of an object as it is kept: as text, which takes a sixth of the memory of a tree.
struct Stored {
  std::string members;  // in JSON, with a comma between them; without apiVersion and kind
  std::string labels;   // metadata.labels in JSON
  bool terminating;     // has a deletionTimestamp
};
using StoredPtr = std::shared_ptr<const Stored>;

// The whole object as JSON.
std::string text_of(const Type& type, const Stored& stored);
// The object as a tree. The sets of fields in managedFields (fieldsV1), which would be most of the
// tree, are strings with the JSON of the set; text_of() writes such a tree as clients get it.
Json tree_of(const Type& type, const Stored& stored);
std::string text_of(const Json& tree);

// A change as clients are told of it.
struct Change {
  std::uint64_t version;
  ChangeType type;
  std::string name_space;
  StoredPtr object;    // after the change; if deleted: the last state, with `version`
  StoredPtr previous;  // before the change; null if added
  std::chrono::steady_clock::time_point at;
};

// A change as the controllers are told of it.
struct Notice {
  ChangeType type;
  Key key;
  ObjectPtr object;
  ObjectPtr previous;
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
  // A watch may lag behind by `history_limit` changes of its kind, or by those of the last
  // `history_time` if they are more; after that it gets 410 and has to list again.
  static constexpr size_t history_limit = 500;
  static constexpr size_t longest_history = 20'000;
  static constexpr std::chrono::seconds history_time{10};
  // How many of the objects that were used last are kept as trees as well, until rest() is called.
  // Events aren't kept so, because they are hardly ever read.
  static constexpr size_t most_trees = 3'072;

  // How far the version jumps when objects are loaded: further than a crash may have lost changes.
  static constexpr std::uint64_t version_jump = 1'000;

  FairMutex& mutex() { return mutex_; }

  // Keeps the objects on `disk` from now on, which must outlive the store, and loads those that it
  // has. To be called first. Their versions stay, and watches from before get 410. The controllers
  // are told of each as of a new one.
  void keep_on(Disk& disk);
  // Writes what has changed to disk. Returns false if that isn't possible.
  bool save() { return disk_ == nullptr || disk_->flush(); }
  // As save(), and waits until not even a power cut loses it.
  bool sync() { return disk_ == nullptr || disk_->sync(); }

  // Null if there is no such object.
  ObjectPtr find(const Key& key) const;
  StoredPtr find_stored(const Key& key) const;
  bool contains(const Key& key) const { return find_stored(key) != nullptr; }
  // Sorted by namespace and name, like etcd's keys. An empty `name_space` means all namespaces. The
  // second function parses each object, and is for kinds of which a namespace has few.
  std::vector<std::pair<Key, StoredPtr>> list_stored(Kind kind,
                                                     const std::string& name_space) const;
  std::vector<ObjectPtr> list(Kind kind, const std::string& name_space) const;
  size_t count(Kind kind, const std::string& name_space) const;
  // The events about objects of this name, sorted like a list.
  std::vector<std::pair<Key, StoredPtr>> events_about(const std::string& name_space,
                                                      const std::string& name) const;
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
  // Takes the lock. Appends the changes that there are to `changes`, at most `limit`.
  WatchState next(Watch& watch, size_t limit, std::vector<Change>& changes);
  // While it exists, whatever next() would say of a kind wakes a stream.
  class Wakes {
   public:
    // Take the lock.
    Wakes(Store& store, Kind kind, std::shared_ptr<api::Waker> waker);
    ~Wakes();
    Wakes(const Wakes&) = delete;
    Wakes& operator=(const Wakes&) = delete;

   private:
    friend class Store;
    Store& store_;
    const Kind kind_;
    const std::shared_ptr<api::Waker> waker_;
    std::list<Wakes*>::iterator place_;
  };

  // Forgets all changes up to now: open watches end with 410, and so do watches that start from an
  // earlier version.
  void compact();
  // Ends all open watches, as if their connections had broken.
  void drop_watches();
  // Takes the lock. Ends all watches for good and wakes the controllers.
  void stop();
  bool stopped() const { return stopped_; }
  // What the objects of a namespace use of a resource that quotas count.
  Quantity used(const std::string& name_space, const std::string& resource) const {
    return usage_.of(name_space, resource);
  }

  // For the controllers: returns the changes since the last call, for which it waits until `until`.
  // `lock` holds the mutex, which others get only while it waits: a moment that has passed keeps
  // them out.
  std::vector<Notice> take_changes(Lock& lock, std::chrono::steady_clock::time_point until);
  // Ends the wait of take_changes(), because there is something else to do.
  void poke();
  // From now on, each change is told to the observer, with the mutex held. There is one.
  void observe(std::function<void(const Key&)> observer) { observer_ = std::move(observer); }
  // Frees what is only kept while much happens: the trees, and the history beyond `history_limit`.
  // To be called when nothing has happened for a while.
  void rest();
  bool rests() const { return with_tree_.empty(); }

 private:
  using Name = std::pair<std::string, std::string>;
  struct Slot {
    StoredPtr stored;
    mutable ObjectPtr tree;  // null if the object isn't kept as a tree as well
  };
  struct Shelf {
    std::map<Name, Slot> objects;
    std::deque<Change> history;
    std::uint64_t compacted = 0;
    std::list<Wakes*> wakes;
  };

  Shelf& shelf(Kind kind) { return shelves_.at(static_cast<size_t>(kind)); }
  const Shelf& shelf(Kind kind) const { return shelves_.at(static_cast<size_t>(kind)); }
  ObjectPtr tree_in(const Key& key, const Slot& slot) const;
  void keep(const Key& key, const Slot& slot, const ObjectPtr& tree) const;
  void drop_tree(const Key& key) const;
  void record(Shelf& shelf, Change change);
  static void drop_oldest(Shelf& shelf);
  void index(const Key& key, const ObjectPtr& before, const ObjectPtr& after);
  void wake_watches();
  static void wake(const Shelf& shelf);

  void load(const Key& key, const std::string& text);
  void write(const Key& key, const StoredPtr& stored);

  mutable FairMutex mutex_;
  Disk* disk_ = nullptr;  // null: the objects are in memory only
  std::array<Shelf, number_of_kinds> shelves_;
  std::map<std::string, std::set<Key>> dependents_;  // by the owner's uid
  std::map<Name, std::set<std::string>> events_;     // names of events, by the object's name
  std::set<std::string> uids_;
  QuotaUsage usage_;
  mutable std::deque<Key> with_tree_;  // the objects that have one, oldest first
  std::uint64_t version_ = 0;
  std::uint64_t drops_ = 0;
  std::uint64_t compactions_ = 0;
  bool stopped_ = false;
  bool poked_ = false;
  std::function<void(const Key&)> observer_;
  std::vector<Notice> unread_;
  std::condition_variable_any unread_changed_;
};

}  // namespace berth::embedded
