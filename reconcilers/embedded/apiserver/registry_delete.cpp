#include <algorithm>

#include "controller/base/clock.h"
#include "reconcilers/embedded/apiserver/object_life.h"
#include "reconcilers/embedded/apiserver/registry.h"

// What DELETE does: preconditions, finalizers, grace periods, namespaces.
namespace berth::embedded {
namespace {

std::string rfc3339_in(std::int64_t seconds) {
  const auto at = system_time() + std::chrono::seconds(seconds);
  return to_iso8601(at).substr(0, 19) + "Z";
}

// For these kinds DELETE answers with the object itself (ReturnDeletedObject of their registries).
bool returns_deleted(Kind kind) {
  return kind == Kind::pods || kind == Kind::services || kind == Kind::service_accounts ||
         kind == Kind::resource_quotas;
}

}  // namespace

ObjectPtr Registry::begin_deletion(const Key& key, Json object, std::int64_t grace_seconds) {
  Json& metadata = object["metadata"];
  metadata["deletionTimestamp"] = rfc3339_in(grace_seconds);
  if (key.kind != Kind::namespaces) metadata["deletionGracePeriodSeconds"] = grace_seconds;
  if (metadata.contains("generation"))
    metadata["generation"] = number_at(object, "/metadata/generation", 0) + 1;
  return store_.put(key, std::move(object));
}

Json Registry::remove_pod(const Key& key, const ObjectPtr& live, const DeleteOptions& options) {
  const std::string phase = text_at((*live)["status"], "phase");
  const bool runs =
      !text_at((*live)["spec"], "nodeName").empty() && phase != "Failed" && phase != "Succeeded";
  const std::int64_t grace = !runs ? 0
                                   : options.grace_seconds.value_or(number_at(
                                         *live, "/spec/terminationGracePeriodSeconds", 30));
  if (grace > 0) return terminating(*live) ? *live : *begin_deletion(key, *live, grace);
  if (has_finalizers(*live)) return terminating(*live) ? *live : *begin_deletion(key, *live, 0);
  // Marks the deletion first, so that the answer contains its time.
  begin_deletion(key, *live, 0);
  return *store_.erase(key);
}

Json Registry::remove(const Type& type, const std::string& name_space, const std::string& name,
                      const DeleteOptions& options) {
  const Key key = key_of(type, name_space, name);
  const ObjectPtr live = get(type, name_space, name);
  const auto refuse = [&](const std::string& what, const std::string& wanted,
                          const std::string& actual) {
    // In this message the API server names the kind, not the plural.
    Type by_kind = type;
    by_kind.plural = type.kind;
    return conflict(by_kind, name,
                    "the " + what + " in the precondition (" + wanted + ") does not match the " +
                        what + " in record (" + actual + "). The object might have been " +
                        (what == "UID" ? "deleted and then recreated" : "modified"));
  };
  const std::string version = text_at((*live)["metadata"], "resourceVersion");
  if (!options.uid.empty() && options.uid != uid_of(*live))
    throw refuse("UID", options.uid, uid_of(*live));
  if (!options.resource_version.empty() && options.resource_version != version)
    throw refuse("ResourceVersion", options.resource_version, version);
  if (type.id == Kind::pods) return remove_pod(key, live, options);
  if (type.id == Kind::namespaces) {
    if (terminating(*live)) return *live;
    Json ending = *live;
    ending["status"]["phase"] = "Terminating";
    return *begin_deletion(key, std::move(ending), 0);
  }
  Json ending = *live;
  // A Job's pods outlive it unless the request says otherwise, for the sake of old clients
  // (pkg/registry/batch/job/strategy.go).
  const Propagation usual = type.id == Kind::jobs ? Propagation::orphan : Propagation::background;
  const Propagation propagation = options.propagation.value_or(usual);
  if (propagation != Propagation::background) {
    const char* finalizer = propagation == Propagation::orphan ? "orphan" : "foregroundDeletion";
    Json& finalizers = ending["metadata"]["finalizers"];
    if (std::find(finalizers.begin(), finalizers.end(), finalizer) == finalizers.end())
      finalizers.push_back(finalizer);
  }
  if (has_finalizers(ending)) {
    if (terminating(*live)) return *live;
    return *begin_deletion(key, std::move(ending), 0);
  }
  const ObjectPtr last = store_.erase(key);
  return returns_deleted(type.id) ? *last : status_success(type, name, uid_of(*live));
}

}  // namespace berth::embedded
