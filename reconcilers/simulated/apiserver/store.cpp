#include "reconcilers/simulated/apiserver/store.h"

#include <algorithm>
#include <stdexcept>

namespace berth::simulated {
namespace {

std::vector<std::string> owners_of(const ObjectPtr& object) {
  std::vector<std::string> owners;
  if (!object) return owners;
  for (const Json& owner : at_path(*object, "/metadata/ownerReferences"))
    owners.push_back(text_at(owner, "uid"));
  return owners;
}

ObjectPtr stamped(Json object, std::uint64_t version) {
  object["metadata"]["resourceVersion"] = std::to_string(version);
  return std::make_shared<const Json>(std::move(object));
}

}  // namespace

ObjectPtr Store::find(const Key& key) const {
  const auto& objects = shelf(key.kind).objects;
  const auto found = objects.find({key.name_space, key.name});
  return found == objects.end() ? nullptr : found->second;
}

std::vector<ObjectPtr> Store::list(Kind kind, const std::string& name_space) const {
  const auto& objects = shelf(kind).objects;
  std::vector<ObjectPtr> found;
  auto at = name_space.empty() ? objects.begin() : objects.lower_bound({name_space, ""});
  for (; at != objects.end() && (name_space.empty() || at->first.first == name_space); ++at)
    found.push_back(at->second);
  return found;
}

size_t Store::count(Kind kind, const std::string& name_space) const {
  const auto& objects = shelf(kind).objects;
  if (name_space.empty()) return objects.size();
  size_t number = 0;
  for (auto at = objects.lower_bound({name_space, ""});
       at != objects.end() && at->first.first == name_space; ++at)
    ++number;
  return number;
}

std::vector<Key> Store::dependents(const std::string& uid) const {
  const auto found = dependents_.find(uid);
  if (found == dependents_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

ObjectPtr Store::put(const Key& key, Json object) {
  ObjectPtr& slot = shelf(key.kind).objects[{key.name_space, key.name}];
  const ObjectPtr before = slot;
  slot = stamped(std::move(object), ++version_);
  index(key, before, slot);
  record({version_, before ? ChangeType::modified : ChangeType::added, key, slot, before});
  return slot;
}

ObjectPtr Store::erase(const Key& key) {
  auto& objects = shelf(key.kind).objects;
  const auto found = objects.find({key.name_space, key.name});
  if (found == objects.end()) throw std::logic_error("erase of an object that isn't there");
  const ObjectPtr before = found->second;
  objects.erase(found);
  index(key, before, nullptr);
  const ObjectPtr last = stamped(*before, ++version_);
  record({version_, ChangeType::deleted, key, last, before});
  return last;
}

void Store::index(const Key& key, const ObjectPtr& before, const ObjectPtr& after) {
  if (before) uids_.erase(uid_of(*before));
  if (after) uids_.insert(uid_of(*after));
  const auto old_owners = owners_of(before);
  const auto owners = owners_of(after);
  if (old_owners == owners) return;
  for (const std::string& owner : old_owners) {
    const auto found = dependents_.find(owner);
    if (found == dependents_.end()) continue;
    found->second.erase(key);
    if (found->second.empty()) dependents_.erase(found);
  }
  for (const std::string& owner : owners) dependents_[owner].insert(key);
}

void Store::record(Change change) {
  Shelf& shelf = this->shelf(change.key.kind);
  unread_.push_back(change);
  shelf.history.push_back(std::move(change));
  if (shelf.history.size() > history_limit) {
    shelf.compacted = shelf.history.front().version;
    shelf.history.pop_front();
  }
  shelf.changed.notify_all();
  unread_changed_.notify_all();
}

Watch Store::watch(Kind kind, std::uint64_t position) const {
  return {kind, position, drops_, compactions_};
}

WatchState Store::next(Watch& watch, std::chrono::steady_clock::time_point until, size_t limit,
                       std::vector<Change>& changes) {
  Lock lock(mutex_);
  Shelf& shelf = this->shelf(watch.kind);
  const auto something = [&] {
    return stopped_ || watch.drops != drops_ || watch.compactions != compactions_ ||
           watch.position < shelf.compacted ||
           (!shelf.history.empty() && shelf.history.back().version > watch.position);
  };
  shelf.changed.wait_until(lock, until, something);
  if (stopped_) return WatchState::stopped;
  if (watch.drops != drops_) return WatchState::dropped;
  if (watch.compactions != compactions_ || watch.position < shelf.compacted)
    return WatchState::expired;
  const auto later = [](std::uint64_t position, const Change& change) {
    return position < change.version;
  };
  auto at = std::upper_bound(shelf.history.begin(), shelf.history.end(), watch.position, later);
  for (; at != shelf.history.end() && changes.size() < limit; ++at) {
    watch.position = at->version;
    changes.push_back(*at);
  }
  // The watch has also passed the other kinds' versions, which is what bookmarks report.
  if (at == shelf.history.end()) watch.position = std::max(watch.position, version_);
  return WatchState::open;
}

void Store::compact() {
  ++compactions_;
  for (Shelf& shelf : shelves_) {
    shelf.history.clear();
    shelf.compacted = version_;
  }
  wake_watches();
}

void Store::drop_watches() {
  ++drops_;
  wake_watches();
}

void Store::wake_watches() {
  for (Shelf& shelf : shelves_) shelf.changed.notify_all();
}

void Store::stop() {
  const Lock lock(mutex_);
  stopped_ = true;
  wake_watches();
  unread_changed_.notify_all();
}

std::vector<Change> Store::take_changes(Lock& lock, std::chrono::steady_clock::time_point until) {
  unread_changed_.wait_until(lock, until, [&] { return stopped_ || !unread_.empty(); });
  return std::exchange(unread_, {});
}

}  // namespace berth::simulated
