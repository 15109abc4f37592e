#include "reconcilers/cluster/tenancy.h"

#include <algorithm>
#include <iterator>

#include "controller/base/quantity.h"

namespace berth::reconcilers {
namespace {

std::vector<Object> bindings_among(const std::vector<Object>& objects) {
  std::vector<Object> bindings;
  std::ranges::copy_if(objects, std::back_inserter(bindings), [](const Object& object) {
    return text_at(object, {"kind"}) == kube::role_bindings.kind;
  });
  return bindings;
}

}  // namespace

Tenancy::Made Tenancy::make(const std::string& app_id) {
  const KeyedMutex::Lock lock(apps_, app_id);
  const auto size = size_of(app_id);
  // The deployment was destroyed after the caller read its row.
  if (size.deployments == 0) return {};
  if (is_settled(app_id, size)) return {.ready = true, .result = {}};
  std::vector<Object> objects = manifests::of_namespace(app_id, size, settings_);
  Settled settled = settled_as(size, objects);
  const auto is_leaving = [&] {
    const ObjectPtr live = cache_.find(objects.front());
    return live && is_being_deleted(*live);
  };
  if (is_leaving()) return {};
  Made made{.ready = true,
            .quota_is_wide = keep_room(app_id, objects.back()),
            .result = applier_.apply({objects.front()})};
  if (is_leaving()) return {};  // as the answer to the apply says
  const Applier::Result binding = applier_.apply(bindings_among(objects));
  made.result.add(binding);
  made.rights_are_new = binding.applied > 0;
  if (!made.rights_are_new) made.result.add(applier_.apply({objects.begin() + 1, objects.end()}));
  const Applier::Result& result = made.result;
  if (result.applied == 0 && !result.again && !result.fought_over && !made.quota_is_wide) {
    const std::lock_guard remembering(mutex_);
    settled_.insert_or_assign(app_id, std::move(settled));
  }
  return made;
}

// The revisions are those from before the comparison, so a change beside it isn't missed.
Tenancy::Settled Tenancy::settled_as(const deployments::AppSize& size,
                                     const std::vector<Object>& objects) const {
  Settled settled{.size = size, .parts = {}};
  for (const Object& object : objects) {
    const kube::Resource& resource = kube::resource_of(object);
    settled.parts.push_back(
        {.resource = &resource,
         .name_space = namespace_of(object),
         .name = name_of(object),
         .revision = cache_.store(resource).revision(namespace_of(object), name_of(object))});
  }
  return settled;
}

bool Tenancy::is_settled(const std::string& app_id, const deployments::AppSize& size) const {
  const std::lock_guard lock(mutex_);
  const auto found = settled_.find(app_id);
  return found != settled_.end() && found->second.size == size &&
         std::ranges::all_of(found->second.parts, [&](const Settled::Part& part) {
           const Store& store = cache_.store(*part.resource);
           return store.revision(part.name_space, part.name) == part.revision;
         });
}

void Tenancy::bind_rights(const std::string& app_id) {
  if (!settings_.tenant_role) return;
  const KeyedMutex::Lock lock(apps_, app_id);
  const ObjectPtr home = cache_.store(kube::namespaces).find("", manifests::namespace_of(app_id));
  if (!home || is_being_deleted(*home) || !is_ours(*home, app_id)) return;
  applier_.apply(bindings_among(manifests::of_namespace(app_id, {}, settings_)));
}

bool Tenancy::has_new_rights(const std::string& app_id, Instant now) const {
  if (!settings_.tenant_role) return false;
  const ObjectPtr binding = live_binding(app_id);
  const auto made =
      binding ? instant_at(*binding, {"metadata", "creationTimestamp"}) : std::nullopt;
  return made && now - *made < rights_take_effect;
}

ObjectPtr Tenancy::live_binding(const std::string& app_id) const {
  return cache_.store(kube::role_bindings)
      .find(manifests::namespace_of(app_id), settings_.tenant_role->role);
}

bool Tenancy::remove_if_empty(const std::string& app_id) {
  const KeyedMutex::Lock lock(apps_, app_id);
  if (size_of(app_id).deployments > 0) return true;
  {
    const std::lock_guard forgetting(mutex_);
    settled_.erase(app_id);
  }
  const std::string name = manifests::namespace_of(app_id);
  if (has_orphans(name)) return true;
  const ObjectPtr cached = cache_.store(kube::namespaces).find("", name);
  // The cache may be out of date, so the API server itself is asked whether anything is left.
  const auto live = cached ? std::optional(*cached) : client_.get(kube::namespaces, "", name);
  if (!live || !is_ours(*live, app_id)) return true;
  if (!is_being_deleted(*live)) client_.remove(kube::namespaces, "", name, uid_of(*live));
  return false;
}

// Leaves the quota as large as it is while pods of an earlier size may be left: they end only when
// smaller ones have started, for which there would be no room beside them. Returns whether it is
// larger than wanted.
bool Tenancy::keep_room(const std::string& app_id, Object& quota) {
  const ObjectPtr live = cache_.find(quota);
  if (!live) return false;
  Object& wanted = quota["spec"]["hard"];
  Object kept = wanted;
  for (auto& [resource, amount] : kept.items()) {
    const std::string present = text_at(*live, {"spec", "hard", resource});
    if (parse_quantity(present).value_or(0) > parse_quantity(amount.get<std::string>()).value_or(0))
      amount = present;
  }
  if (kept == wanted) return false;
  if (!database_.read([&](db::Tx& tx) { return deployments::app_is_changing(tx, app_id); }))
    return false;
  wanted = std::move(kept);
  quota["metadata"]["annotations"][manifests::hash_annotation] = manifests::hash_of(quota);
  return true;
}

deployments::AppSize Tenancy::size_of(const std::string& app_id) {
  return database_.read([&](db::Tx& tx) { return deployments::size_of_app(tx, app_id); });
}

bool Tenancy::has_orphans(const std::string& name_space) {
  const auto present = cache_.deployments_in(name_space);
  return database_.read([&](db::Tx& tx) {
    return std::any_of(present.begin(), present.end(),
                       [&](const std::string& id) { return !deployments::find(tx, id); });
  });
}

bool Tenancy::is_ours(const Object& name_space, const std::string& app_id) const {
  return label_of(name_space, manifests::instance_label) == settings_.instance &&
         label_of(name_space, manifests::app_label) == app_id;
}

}  // namespace berth::reconcilers
