#include "reconcilers/cluster/store.h"

#include <algorithm>
#include <charconv>

#include "manifests/manifests.h"
#include "reconcilers/cluster/differ.h"

namespace berth::reconcilers {
namespace {

std::string key_of(const Object& object) { return namespace_of(object) + "/" + name_of(object); }

std::string version_of(const Object& object) {
  return text_at(object, {"metadata", "resourceVersion"});
}

// The number of a resource version. Versions are rising decimal numbers (kubernetes.io, "API
// Concepts", "Resource versions"); a text that isn't a number compares as the oldest version.
std::uint64_t number_of(const std::string& version) {
  std::uint64_t number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

bool is_older(const std::string& version, const std::string& than) {
  return number_of(version) < number_of(than);
}

// Keeps our own managed fields alone, and their trees as text, which takes a tenth of the memory.
// Of those that a create gave us, nobody asks for more than whether there are any.
Object our_managed_fields(Object&& managers) {
  Object ours = Object::array();
  for (Object& entry : managers) {
    if (text_at(entry, {"manager"}) != field_manager) continue;
    if (text_at(entry, {"operation"}) != "Apply") entry.erase("fieldsV1");
    if (const auto fields = entry.find("fieldsV1"); fields != entry.end() && fields->is_object())
      *fields = fields->dump();
    ours.push_back(std::move(entry));
  }
  return ours;
}

// The node, and the limits of the containers, of which only their memory and CPU can change.
Object slimmed_pod_spec(const Object& pod) {
  Object containers = Object::array();
  for (const Object& container : field(pod, {"spec", "containers"})) {
    Object limits = Object::object();
    for (const char* resource : {"cpu", "memory"})
      if (const Object& amount = field(container, {"resources", "limits", resource});
          !amount.is_null())
        limits[resource] = amount;
    containers.push_back(
        {{"name", text_at(container, {"name"})}, {"resources", {{"limits", std::move(limits)}}}});
  }
  return {{"nodeName", text_at(pod, {"spec", "nodeName"})}, {"containers", std::move(containers)}};
}

}  // namespace

Object slimmed(Object object) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end()) return object;
  const bool is_pod = object.value("kind", "") == "Pod";
  const bool is_job = object.value("kind", "") == "Job";
  if (const auto managers = metadata->find("managedFields"); managers != metadata->end())
    *managers = is_pod ? Object::array() : our_managed_fields(std::move(*managers));
  if (is_pod) object["spec"] = slimmed_pod_spec(object);
  const std::string kind = object.value("kind", "");
  if (kind == "ResourceQuota" || kind == "PodDisruptionBudget") object.erase("status");
  if (const auto spec = object.find("spec"); spec != object.end() && is_job)
    spec->erase("template");
  return object;
}

ObjectPtr Store::find(const std::string& name_space, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(name_space + "/" + name);
  return found == objects_.end() ? nullptr : tree_locked(found->second);
}

std::vector<ObjectPtr> Store::of_deployment(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  std::vector<ObjectPtr> found;
  const auto keys = keys_of_deployment_.find(id);
  if (keys == keys_of_deployment_.end()) return found;
  for (const std::string& key : keys->second) found.push_back(tree_locked(objects_.at(key)));
  return found;
}

std::set<std::string> Store::deployments() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> ids;
  for (const auto& [id, keys] : keys_of_deployment_) ids.insert(id);
  return ids;
}

std::set<std::string> Store::deployments_in(const std::string& name_space) const {
  const std::lock_guard lock(mutex_);
  const std::string prefix = name_space + "/";
  std::set<std::string> ids;
  for (auto at = objects_.lower_bound(prefix);
       at != objects_.end() && at->first.starts_with(prefix); ++at)
    if (!at->second.deployment.empty()) ids.insert(at->second.deployment);
  return ids;
}

size_t Store::size() const {
  const std::lock_guard lock(mutex_);
  return objects_.size();
}

std::uint64_t Store::revision(const std::string& name_space, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(name_space + "/" + name);
  return found == objects_.end() ? 0 : found->second.revision;
}

bool Store::put(Object object) {
  const std::lock_guard lock(mutex_);
  return put_locked(slimmed(std::move(object)));
}

void Store::note(Object object) {
  const std::lock_guard lock(mutex_);
  Object slim = slimmed(std::move(object));
  const std::string key = key_of(slim);
  put_locked(std::move(slim));
  const auto known = objects_.find(key);
  if (known != objects_.end()) known->second.noted = SteadyClock::now();
}

void Store::erase(const Object& object) {
  const std::lock_guard lock(mutex_);
  const std::string uid = uid_of(object);
  const auto now = SteadyClock::now();
  if (!uid.empty() && !deleted_.contains(uid)) deleted_order_.emplace_back(now, uid);
  if (!uid.empty()) deleted_[uid] = number_of(version_of(object));
  while (!deleted_order_.empty() && (deleted_order_.size() > max_deleted ||
                                     now - deleted_order_.front().first > deleted_for)) {
    deleted_.erase(deleted_order_.front().second);
    deleted_order_.pop_front();
  }
  const std::string key = key_of(object);
  const auto known = objects_.find(key);
  if (known != objects_.end() && known->second.uid == uid) erase_locked(key);
}

std::vector<ObjectPtr> Store::replace(std::vector<Object> objects,
                                      const std::string& resource_version) {
  const std::lock_guard lock(mutex_);
  const auto is_noted = [now = SteadyClock::now()](const Kept& kept) {
    return kept.noted && now - *kept.noted < noted_for;
  };
  std::vector<ObjectPtr> changed;
  std::set<std::string> listed;
  for (Object& object : objects) {
    const std::string key = key_of(object);
    listed.insert(key);
    if (const auto known = objects_.find(key); known != objects_.end()) {
      const Kept& kept = known->second;
      if (kept.version == version_of(object)) continue;
      if (is_noted(kept) && kept.uid == uid_of(object) &&
          is_older(version_of(object), kept.version))
        continue;
    }
    changed.push_back(set_locked(key, slimmed(std::move(object)), ++last_revision_));
  }
  std::vector<std::string> gone;
  for (const auto& [key, kept] : objects_) {
    const bool newer = is_noted(kept) && is_older(resource_version, kept.version);
    if (!listed.contains(key) && !newer) gone.push_back(key);
  }
  for (const std::string& key : gone) {
    changed.push_back(tree_locked(objects_.at(key)));
    erase_locked(key);
  }
  return changed;
}

bool Store::put_locked(Object&& object) {
  const std::string version = version_of(object);
  const auto deleted = deleted_.find(uid_of(object));
  if (deleted != deleted_.end() && number_of(version) <= deleted->second) return false;
  const std::string key = key_of(object);
  std::uint64_t same = 0;  // the revision of what is known, if nothing has changed
  if (const auto known = objects_.find(key); known != objects_.end()) {
    const Kept& kept = known->second;
    if (kept.uid == uid_of(object) && (kept.version == version || is_older(version, kept.version)))
      return false;
    object["metadata"]["resourceVersion"] = kept.version;
    if (object.dump() == kept.text) same = kept.revision;
    object["metadata"]["resourceVersion"] = version;
  }
  set_locked(key, std::move(object), same > 0 ? same : ++last_revision_);
  return same == 0;
}

ObjectPtr Store::set_locked(const std::string& key, Object&& object, std::uint64_t revision) {
  erase_locked(key);
  Kept kept{.text = object.dump(),
            .uid = uid_of(object),
            .version = version_of(object),
            .deployment = label_of(object, manifests::deployment_label),
            .revision = revision,
            .noted = {},
            .tree = {}};
  kept.text.shrink_to_fit();
  if (!kept.deployment.empty()) keys_of_deployment_[kept.deployment].insert(key);
  ObjectPtr tree = std::make_shared<const Object>(std::move(object));
  remember_locked(objects_[key] = std::move(kept), tree);
  return tree;
}

ObjectPtr Store::tree_locked(const Kept& kept) const {
  if (ObjectPtr tree = kept.tree.lock()) return tree;
  ObjectPtr tree = std::make_shared<const Object>(Object::parse(kept.text));
  remember_locked(kept, tree);
  return tree;
}

void Store::remember_locked(const Kept& kept, const ObjectPtr& tree) const {
  kept.tree = tree;
  trees_.emplace_back(SteadyClock::now(), tree);
  if (trees_.size() > most_trees) trees_.pop_front();
}

void Store::drop_old_trees() {
  const std::lock_guard lock(mutex_);
  const auto kept_since = SteadyClock::now() - trees_kept_for;
  while (!trees_.empty() && trees_.front().first < kept_since) trees_.pop_front();
}

void Store::erase_locked(const std::string& key) {
  const auto known = objects_.find(key);
  if (known == objects_.end()) return;
  if (const auto keys = keys_of_deployment_.find(known->second.deployment);
      keys != keys_of_deployment_.end()) {
    keys->second.erase(key);
    if (keys->second.empty()) keys_of_deployment_.erase(keys);
  }
  objects_.erase(known);
}

}  // namespace berth::reconcilers
