#include "reconcilers/embedded/controllers/collector.h"

#include <algorithm>

#include "reconcilers/embedded/apiserver/object_life.h"
#include "reconcilers/embedded/apiserver/refusal.h"
#include "reconcilers/embedded/controllers/event_recorder.h"

namespace berth::embedded {
namespace {

bool has_finalizer(const Json& object, const char* finalizer) {
  const Json& finalizers = at_path(object, "/metadata/finalizers");
  return std::find(finalizers.begin(), finalizers.end(), finalizer) != finalizers.end();
}

}  // namespace

void Collector::remove(const Key& key) {
  DeleteOptions options;
  options.propagation = Propagation::background;
  try {
    registry_.remove(type_of(key.kind), key.name_space, key.name, options);
  } catch (const Refusal&) {
    // It has been deleted in the meantime.
  }
}

void Collector::release(const Key& dependent, const std::string& owner) {
  Json object = *store_.find(dependent);
  Json& owners = object["metadata"]["ownerReferences"];
  for (auto at = owners.begin(); at != owners.end();)
    at = text_at(*at, "uid") == owner ? owners.erase(at) : std::next(at);
  if (owners.empty()) object["metadata"].erase("ownerReferences");
  store_.put(dependent, std::move(object));
}

void Collector::drop_finalizer(const Key& key, const std::string& finalizer) {
  Json object = *store_.find(key);
  Json& finalizers = object["metadata"]["finalizers"];
  finalizers.erase(std::find(finalizers.begin(), finalizers.end(), finalizer));
  if (finalizers.empty()) object["metadata"].erase("finalizers");
  store_.put(key, std::move(object));
  registry_.finish(key);
}

void Collector::reconcile(const Key& key) {
  const ObjectPtr object = store_.find(key);
  if (!object) return;
  const std::string uid = uid_of(*object);
  if (terminating(*object) && has_finalizer(*object, "orphan")) {
    for (const Key& dependent : store_.dependents(uid)) release(dependent, uid);
    return drop_finalizer(key, "orphan");
  }
  if (terminating(*object) && has_finalizer(*object, "foregroundDeletion")) {
    const auto dependents = store_.dependents(uid);
    for (const Key& dependent : dependents)
      if (const ObjectPtr one = store_.find(dependent); one && !terminating(*one))
        remove(dependent);
    if (store_.dependents(uid).empty()) drop_finalizer(key, "foregroundDeletion");
    return;
  }
  const Json& owners = at_path(*object, "/metadata/ownerReferences");
  const bool owned =
      owners.empty() || std::any_of(owners.begin(), owners.end(), [&](const Json& owner) {
        return store_.has_uid(text_at(owner, "uid"));
      });
  if (!owned && !terminating(*object)) remove(key);
}

void Collector::reconcile_namespace(const std::string& name) {
  const Key key{Kind::namespaces, "", name};
  const ObjectPtr object = store_.find(key);
  if (!object) return;
  if (!terminating(*object)) return furnish(name);
  bool empty = true;
  for (const Type& type : all_types()) {
    if (!type.namespaced()) continue;
    for (const auto& [content, stored] : store_.list_stored(type.id, name))
      if (!stored->terminating) remove(content);
    empty = empty && store_.count(type.id, name) == 0;
  }
  if (!empty) return;
  if (at_path(*object, "/metadata/finalizers").empty()) store_.erase(key);
}

void Collector::furnish(const std::string& name) {
  const auto ensure = [&](Kind kind, const char* object_name, const Json& data) {
    if (store_.find({kind, name, object_name})) return;
    const Type& type = type_of(kind);
    Json object{{"apiVersion", api_version(type)},
                {"kind", type.kind},
                {"metadata", {{"name", object_name}}}};
    if (!data.is_null()) object["data"] = data;
    try {
      registry_.create(type, name, std::move(object), {{controller_manager}});
    } catch (const Refusal&) {
      // A quota on ConfigMaps may leave no room for this one, which pods don't need here.
    }
  };
  ensure(Kind::service_accounts, "default", nullptr);
  ensure(Kind::config_maps, "kube-root-ca.crt", {{"ca.crt", "simulated"}});
}

}  // namespace berth::embedded
