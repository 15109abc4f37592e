#include "reconcilers/cluster/store.h"

#include <algorithm>
#include <charconv>

#include "manifests/manifests.h"
#include "reconcilers/cluster/differ.h"

namespace berth::reconcilers {
namespace {

constexpr std::string_view tls_secret_type = "kubernetes.io/tls";

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

bool differ_in_version_only(const Object& object, const Object& known) {
  Object same = object;
  same["metadata"]["resourceVersion"] = version_of(known);
  return same == known;
}

bool is_older(const Object& object, const Object& than) {
  return uid_of(object) == uid_of(than) &&
         number_of(version_of(object)) < number_of(version_of(than));
}

// Keeps our own managed fields alone, and their trees as text, which takes a tenth of the memory.
Object our_managed_fields(Object&& managers) {
  Object ours = Object::array();
  for (Object& entry : managers) {
    if (text_at(entry, {"manager"}) != field_manager) continue;
    if (const auto fields = entry.find("fieldsV1"); fields != entry.end() && fields->is_object())
      *fields = fields->dump();
    ours.push_back(std::move(entry));
  }
  return ours;
}

}  // namespace

Object slimmed(Object object) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end()) return object;
  const bool is_pod = object.value("kind", "") == "Pod";
  if (const auto managers = metadata->find("managedFields"); managers != metadata->end())
    *managers = is_pod ? Object::array() : our_managed_fields(std::move(*managers));
  if (is_pod) object["spec"] = {{"nodeName", text_at(object, {"spec", "nodeName"})}};
  if (object.value("kind", "") == "ResourceQuota") object.erase("status");
  if (object.value("type", "") == tls_secret_type)
    if (const auto data = object.find("data"); data != object.end()) data->erase("tls.key");
  return object;
}

ObjectPtr Store::find(const std::string& name_space, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(name_space + "/" + name);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<ObjectPtr> Store::of_deployment(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  std::vector<ObjectPtr> found;
  const auto keys = keys_of_deployment_.find(id);
  if (keys == keys_of_deployment_.end()) return found;
  for (const std::string& key : keys->second) found.push_back(objects_.at(key));
  return found;
}

std::vector<ObjectPtr> Store::in_namespace(const std::string& name_space) const {
  const std::lock_guard lock(mutex_);
  const std::string prefix = name_space + "/";
  std::vector<ObjectPtr> found;
  for (auto at = objects_.lower_bound(prefix);
       at != objects_.end() && at->first.starts_with(prefix); ++at)
    found.push_back(at->second);
  return found;
}

std::vector<ObjectPtr> Store::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<ObjectPtr> found;
  found.reserve(objects_.size());
  for (const auto& [key, object] : objects_) found.push_back(object);
  return found;
}

size_t Store::size() const {
  const std::lock_guard lock(mutex_);
  return objects_.size();
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
  if (objects_.contains(key)) noted_[key] = SteadyClock::now();
}

void Store::erase(const Object& object) {
  const std::lock_guard lock(mutex_);
  const std::string uid = uid_of(object);
  if (!uid.empty() && !deleted_.contains(uid)) deleted_order_.push_back(uid);
  if (!uid.empty()) deleted_[uid] = number_of(version_of(object));
  if (deleted_order_.size() > max_deleted) {
    deleted_.erase(deleted_order_.front());
    deleted_order_.pop_front();
  }
  const std::string key = key_of(object);
  const auto known = objects_.find(key);
  if (known != objects_.end() && uid_of(*known->second) == uid) erase_locked(key);
}

std::vector<ObjectPtr> Store::replace(std::vector<Object> objects,
                                      const std::string& resource_version) {
  const std::lock_guard lock(mutex_);
  std::vector<ObjectPtr> changed;
  std::set<std::string> listed;
  for (Object& object : objects) {
    const std::string key = key_of(object);
    listed.insert(key);
    const auto known = objects_.find(key);
    if (known != objects_.end() && version_of(*known->second) == version_of(object)) continue;
    if (known != objects_.end() && is_noted_locked(key) && is_older(object, *known->second))
      continue;
    set_locked(key, std::make_shared<const Object>(slimmed(std::move(object))));
    changed.push_back(objects_.at(key));
  }
  std::vector<std::string> gone;
  for (const auto& [key, object] : objects_) {
    const bool newer =
        is_noted_locked(key) && number_of(version_of(*object)) > number_of(resource_version);
    if (!listed.contains(key) && !newer) gone.push_back(key);
  }
  for (const std::string& key : gone) {
    changed.push_back(objects_.at(key));
    erase_locked(key);
  }
  return changed;
}

bool Store::put_locked(Object&& object) {
  bool changed = true;
  const auto deleted = deleted_.find(uid_of(object));
  if (deleted != deleted_.end() && number_of(version_of(object)) <= deleted->second) return false;
  const std::string key = key_of(object);
  const auto known = objects_.find(key);
  if (known != objects_.end()) {
    const bool same = uid_of(*known->second) == uid_of(object) &&
                      version_of(*known->second) == version_of(object);
    if (same || is_older(object, *known->second)) return false;
    changed = !differ_in_version_only(object, *known->second);
  }
  set_locked(key, std::make_shared<const Object>(std::move(object)));
  return changed;
}

void Store::set_locked(const std::string& key, ObjectPtr object) {
  erase_locked(key);
  if (const std::string id = label_of(*object, manifests::deployment_label); !id.empty())
    keys_of_deployment_[id].insert(key);
  objects_[key] = std::move(object);
}

void Store::erase_locked(const std::string& key) {
  const auto known = objects_.find(key);
  if (known == objects_.end()) return;
  const auto keys = keys_of_deployment_.find(label_of(*known->second, manifests::deployment_label));
  if (keys != keys_of_deployment_.end()) {
    keys->second.erase(key);
    if (keys->second.empty()) keys_of_deployment_.erase(keys);
  }
  objects_.erase(known);
  noted_.erase(key);
}

bool Store::is_noted_locked(const std::string& key) const {
  const auto found = noted_.find(key);
  return found != noted_.end() && SteadyClock::now() - found->second < noted_for;
}

}  // namespace berth::reconcilers
