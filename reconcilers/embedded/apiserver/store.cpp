#include "reconcilers/embedded/apiserver/store.h"

#include <algorithm>
#include <stdexcept>

#include "controller/base/json_text.h"

namespace berth::embedded {
namespace {

constexpr std::string_view fields = "fieldsV1";

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

StoredPtr stored(const Json& object) {
  Stored made;
  for (const auto& [key, value] : object.items()) {
    if (key == "apiVersion" || key == "kind") continue;
    made.members += (made.members.empty() ? "\"" : ",\"") + key + "\":" + text_of(value);
  }
  made.members.shrink_to_fit();
  if (const Json& labels = at_path(object, "/metadata/labels"); !labels.is_null())
    made.labels = labels.dump();
  made.terminating = !at_path(object, "/metadata/deletionTimestamp").is_null();
  return std::make_shared<const Stored>(std::move(made));
}

std::string subject_of(const Json& event) {
  return text_at(at_path(event, "/involvedObject"), "name");
}

}  // namespace

std::string text_of(const Type& type, const Stored& stored) {
  return "{\"apiVersion\":\"" + api_version(type) + "\",\"kind\":\"" + std::string(type.kind) +
         "\"," + stored.members + "}";
}

Json tree_of(const Type& type, const Stored& stored) {
  return Json::parse(objects_as_texts(text_of(type, stored), fields));
}

std::string text_of(const Json& tree) { return texts_as_objects(tree.dump(), fields); }

StoredPtr Store::find_stored(const Key& key) const {
  const auto& objects = shelf(key.kind).objects;
  const auto found = objects.find({key.name_space, key.name});
  return found == objects.end() ? nullptr : found->second.stored;
}

ObjectPtr Store::find(const Key& key) const {
  const auto& objects = shelf(key.kind).objects;
  const auto found = objects.find({key.name_space, key.name});
  return found == objects.end() ? nullptr : tree_in(key, found->second);
}

ObjectPtr Store::tree_in(const Key& key, const Slot& slot) const {
  if (slot.tree) return slot.tree;
  ObjectPtr tree = std::make_shared<const Json>(tree_of(type_of(key.kind), *slot.stored));
  keep(key, slot, tree);
  return tree;
}

void Store::keep(const Key& key, const Slot& slot, const ObjectPtr& tree) const {
  if (key.kind == Kind::events) return;
  if (!slot.tree) with_tree_.push_back(key);
  slot.tree = tree;
  if (with_tree_.size() <= most_trees) return;
  drop_tree(with_tree_.front());
  with_tree_.pop_front();
}

void Store::drop_tree(const Key& key) const {
  const auto& objects = shelf(key.kind).objects;
  if (const auto found = objects.find({key.name_space, key.name}); found != objects.end())
    found->second.tree.reset();
}

void Store::rest() {
  for (const Key& key : with_tree_) drop_tree(key);
  with_tree_.clear();
  for (Shelf& shelf : shelves_)
    while (shelf.history.size() > history_limit) drop_oldest(shelf);
}

std::vector<std::pair<Key, StoredPtr>> Store::list_stored(Kind kind,
                                                          const std::string& name_space) const {
  const auto& objects = shelf(kind).objects;
  std::vector<std::pair<Key, StoredPtr>> found;
  auto at = name_space.empty() ? objects.begin() : objects.lower_bound({name_space, ""});
  for (; at != objects.end() && (name_space.empty() || at->first.first == name_space); ++at)
    found.push_back({{kind, at->first.first, at->first.second}, at->second.stored});
  return found;
}

std::vector<ObjectPtr> Store::list(Kind kind, const std::string& name_space) const {
  const auto& objects = shelf(kind).objects;
  std::vector<ObjectPtr> found;
  auto at = name_space.empty() ? objects.begin() : objects.lower_bound({name_space, ""});
  for (; at != objects.end() && (name_space.empty() || at->first.first == name_space); ++at)
    found.push_back(tree_in({kind, at->first.first, at->first.second}, at->second));
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

std::vector<std::pair<Key, StoredPtr>> Store::events_about(const std::string& name_space,
                                                           const std::string& name) const {
  std::vector<std::pair<Key, StoredPtr>> found;
  const auto names = events_.find({name_space, name});
  if (names == events_.end()) return found;
  for (const std::string& event : names->second) {
    const Key key{Kind::events, name_space, event};
    found.push_back({key, find_stored(key)});
  }
  return found;
}

std::vector<Key> Store::dependents(const std::string& uid) const {
  const auto found = dependents_.find(uid);
  if (found == dependents_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void Store::keep_on(Disk& disk) {
  disk_ = &disk;
  const Disk::Content content = disk.load();
  if (content.objects.empty()) return;
  for (const Disk::Object& object : content.objects) load(object.key, object.text);
  version_ = content.version + version_jump;
  for (Shelf& shelf : shelves_) shelf.compacted = version_;
}

void Store::load(const Key& key, const std::string& text) {
  auto object = std::make_shared<const Json>(Json::parse(objects_as_texts(text, fields)));
  Slot& slot = shelf(key.kind).objects[{key.name_space, key.name}];
  slot.stored = stored(*object);
  index(key, nullptr, object);
  unread_.push_back({ChangeType::added, key, std::move(object), nullptr});
}

void Store::write(const Key& key, const StoredPtr& stored) {
  if (disk_ == nullptr) return;
  disk_->change(key, stored ? std::optional(text_of(type_of(key.kind), *stored)) : std::nullopt,
                version_);
}

ObjectPtr Store::put(const Key& key, Json object) {
  Shelf& shelf = this->shelf(key.kind);
  Slot& slot = shelf.objects[{key.name_space, key.name}];
  const StoredPtr previous = slot.stored;
  const ObjectPtr before = previous ? tree_in(key, slot) : nullptr;
  ObjectPtr after = stamped(std::move(object), ++version_);
  slot.stored = stored(*after);
  write(key, slot.stored);
  keep(key, slot, after);
  index(key, before, after);
  const auto type = before ? ChangeType::modified : ChangeType::added;
  record(shelf,
         {version_, type, key.name_space, slot.stored, previous, std::chrono::steady_clock::now()});
  unread_.push_back({type, key, after, before});
  if (observer_) observer_(key);
  return after;
}

ObjectPtr Store::erase(const Key& key) {
  Shelf& shelf = this->shelf(key.kind);
  const auto found = shelf.objects.find({key.name_space, key.name});
  if (found == shelf.objects.end()) throw std::logic_error("erase of an object that isn't there");
  const ObjectPtr before = tree_in(key, found->second);
  const StoredPtr previous = found->second.stored;
  shelf.objects.erase(found);
  index(key, before, nullptr);
  const ObjectPtr last = stamped(*before, ++version_);
  write(key, nullptr);
  record(shelf, {version_, ChangeType::deleted, key.name_space, stored(*last), previous,
                 std::chrono::steady_clock::now()});
  unread_.push_back({ChangeType::deleted, key, last, before});
  if (observer_) observer_(key);
  return last;
}

void Store::index(const Key& key, const ObjectPtr& before, const ObjectPtr& after) {
  usage_.count(key.kind, key.name_space, before.get(), after.get());
  if (before && !after) uids_.erase(uid_of(*before));
  if (after && !before) uids_.insert(uid_of(*after));
  if (key.kind == Kind::events) {
    const Name subject{key.name_space, subject_of(before ? *before : *after)};
    if (!before) events_[subject].insert(key.name);
    if (!after)
      if (const auto names = events_.find(subject); names != events_.end()) {
        names->second.erase(key.name);
        if (names->second.empty()) events_.erase(names);
      }
  }
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

void Store::drop_oldest(Shelf& shelf) {
  shelf.compacted = shelf.history.front().version;
  shelf.history.pop_front();
}

void Store::record(Shelf& shelf, Change change) {
  const auto kept_since = change.at - history_time;
  shelf.history.push_back(std::move(change));
  while (shelf.history.size() > history_limit &&
         (shelf.history.front().at < kept_since || shelf.history.size() > longest_history))
    drop_oldest(shelf);
  wake(shelf);
  unread_changed_.notify_all();
}
Watch Store::watch(Kind kind, std::uint64_t position) const {
  return {kind, position, drops_, compactions_};
}

WatchState Store::next(Watch& watch, size_t limit, std::vector<Change>& changes) {
  const Lock lock(mutex_);
  Shelf& shelf = this->shelf(watch.kind);
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
  for (const Shelf& shelf : shelves_) wake(shelf);
}

void Store::wake(const Shelf& shelf) {
  for (Wakes* const wakes : shelf.wakes) wakes->waker_->wake();
}

Store::Wakes::Wakes(Store& store, Kind kind, std::shared_ptr<api::Waker> waker)
    : store_(store), kind_(kind), waker_(std::move(waker)) {
  const Lock lock(store_.mutex_);
  auto& all = store_.shelf(kind_).wakes;
  place_ = all.insert(all.end(), this);
}

Store::Wakes::~Wakes() {
  const Lock lock(store_.mutex_);
  store_.shelf(kind_).wakes.erase(place_);
}

void Store::stop() {
  const Lock lock(mutex_);
  stopped_ = true;
  wake_watches();
  unread_changed_.notify_all();
}

std::vector<Notice> Store::take_changes(Lock& lock, std::chrono::steady_clock::time_point until) {
  // Even a wait that ends at once would give the mutex up.
  if (until > std::chrono::steady_clock::now())
    unread_changed_.wait_until(lock, until, [&] { return stopped_ || poked_ || !unread_.empty(); });
  poked_ = false;
  return std::exchange(unread_, {});
}

void Store::poke() {
  poked_ = true;
  unread_changed_.notify_all();
}

}  // namespace berth::embedded
