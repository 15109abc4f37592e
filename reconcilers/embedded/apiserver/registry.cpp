#include "reconcilers/embedded/apiserver/registry.h"

#include <algorithm>
#include <cstdio>

#include "reconcilers/embedded/apiserver/admission.h"
#include "reconcilers/embedded/apiserver/defaults.h"
#include "reconcilers/embedded/apiserver/merge.h"
#include "reconcilers/embedded/apiserver/object_life.h"
#include "reconcilers/embedded/apiserver/quota.h"
#include "reconcilers/embedded/apiserver/validation.h"

namespace berth::embedded {
namespace {

// A generated name is cut, so that it has at most 63 characters (k8s.io/apiserver, names).
constexpr size_t longest_generated_base = 58;

// Fills in apiVersion and kind from the URL if the body doesn't have them.
void check_type(const Type& type, Json& object) {
  if (text_at(object, "apiVersion").empty()) object["apiVersion"] = api_version(type);
  if (text_at(object, "kind").empty()) object["kind"] = type.kind;
  const std::string whole = text_at(object, "apiVersion");
  const std::string kind = text_at(object, "kind");
  if (whole == api_version(type) && kind == type.kind) return;
  const std::string version = whole.substr(whole.find('/') + 1);
  const std::string group =
      type.group.empty() ? "core" : std::string(type.group.substr(0, type.group.find('.')));
  throw bad_request(kind + " in version \"" + version + "\" cannot be handled as a " +
                    std::string(type.kind) + ": converting (" + version + "." + kind + ") to (" +
                    group + "." + std::string(type.kind) + "): unknown conversion");
}

// The body may leave out name and namespace, but must not contradict the URL.
void adopt_place(const Type& type, const std::string& name_space, const std::string& name,
                 Json& object) {
  check_type(type, object);
  Json& metadata = object["metadata"];
  if (!metadata.is_object()) metadata = Json::object();
  if (!name.empty()) {
    const std::string own = name_of(object);
    if (!own.empty() && own != name)
      throw bad_request("the name of the object (" + own +
                        ") does not match the name on the URL (" + name + ")");
    metadata["name"] = name;
  }
  if (!type.namespaced()) {
    metadata.erase("namespace");
    return;
  }
  const std::string own = namespace_of(object);
  if (!own.empty() && own != name_space)
    throw bad_request(
        "the namespace of the provided object does not match the namespace sent on the request");
  metadata["namespace"] = name_space;
}

// Keeps the fields that a client can't set.
void keep_system_fields(const Json& live, Json& object) {
  const Json& before = live["metadata"];
  Json& metadata = object["metadata"];
  for (const char* field : {"uid", "creationTimestamp", "generation", "deletionTimestamp",
                            "deletionGracePeriodSeconds", "resourceVersion", "generateName"}) {
    if (before.contains(field))
      metadata[field] = before[field];
    else
      metadata.erase(field);
  }
}

bool spec_changed(const Type& type, const Json& before, const Json& after) {
  if (type.origin == Origin::custom) {
    Json a = before;
    Json b = after;
    for (Json* object : {&a, &b})
      for (const char* part : {"metadata", "status"}) object->erase(part);
    return a != b;
  }
  if (at_path(before, "/spec") != at_path(after, "/spec")) return true;
  // Changes of a Deployment's annotations count too (pkg/registry/apps/deployment/strategy.go).
  return type.id == Kind::deployments &&
         at_path(before, "/metadata/annotations") != at_path(after, "/metadata/annotations");
}

std::string quality_of_service(const Json& pod) {
  bool any = false;
  bool guaranteed = true;
  for (const Json& container : at_path(pod, "/spec/containers")) {
    const Json& limits = at_path(container, "/resources/limits");
    const Json& requests = at_path(container, "/resources/requests");
    any = any || !limits.empty() || !requests.empty();
    for (const char* resource : {"cpu", "memory"})
      guaranteed = guaranteed && limits.contains(resource) && requests.contains(resource) &&
                   limits[resource] == requests[resource];
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

// 10.96.0.0/12 is kubeadm's range for services.
constexpr unsigned first_of_services = 96;

std::string service_address(std::uint32_t number) {
  return "10." + std::to_string(first_of_services + (number >> 16) % 16) + "." +
         std::to_string(number >> 8 & 255) + "." + std::to_string(number & 255);
}

// The number from which the address was made; 0 if it is none of these.
std::uint32_t number_of_address(const std::string& address) {
  unsigned second = 0;
  unsigned third = 0;
  unsigned fourth = 0;
  if (std::sscanf(address.c_str(), "10.%3u.%3u.%3u", &second, &third, &fourth) != 3 ||
      second < first_of_services)
    return 0;
  return (second - first_of_services) << 16 | third << 8 | fourth;
}

// Gives a Job the labels by which it knows its pods (pkg/registry/batch/job/strategy.go).
void select_own_pods(Json& job) {
  if (at_path(job, "/spec/manualSelector") == true) return;
  const std::string uid = uid_of(job);
  job["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"] = uid;
  Json& labels = job["spec"]["template"]["metadata"]["labels"];
  for (const char* prefix : {"", "batch.kubernetes.io/"}) {
    labels[std::string(prefix) + "controller-uid"] = uid;
    labels[std::string(prefix) + "job-name"] = name_of(job);
  }
}

}  // namespace

Registry::Registry(Store& store, std::uint64_t seed)
    : store_(store), random_(seed != 0 ? seed : std::random_device()()) {
  for (const ObjectPtr& service : store_.list(Kind::services, ""))
    addresses_ = std::max(addresses_, number_of_address(text_at((*service)["spec"], "clusterIP")));
}

std::string Registry::name_suffix(size_t length) {
  // Without vowels and similar-looking characters, as in k8s.io/apimachinery, util/rand.
  static constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  for (size_t i = 0; i < length; ++i) text += letters[random_() % letters.size()];
  return text;
}

std::string Registry::uuid() {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 36; ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    text += hyphen    ? '-'
            : i == 14 ? '4'
            : i == 19 ? digits[8 + random_() % 4]
                      : digits[random_() % 16];
  }
  return text;
}

ObjectPtr Registry::get(const Type& type, const std::string& name_space,
                        const std::string& name) const {
  ObjectPtr found = store_.find(key_of(type, name_space, name));
  if (!found) throw not_found(type, name);
  return found;
}

ObjectPtr Registry::commit(const Key& key, const ObjectPtr& live, Json object, DryRun dry_run) {
  if (live && same_but_for_times(*live, object)) return live;
  if (dry_run == DryRun::yes) return std::make_shared<const Json>(std::move(object));
  return store_.put(key, std::move(object));
}

void Registry::prepare_create(const Type& type, const std::string& name_space, Json& object) {
  Json& metadata = object["metadata"];
  if (name_of(object).empty() && !text_at(metadata, "generateName").empty())
    metadata["name"] =
        text_at(metadata, "generateName").substr(0, longest_generated_base) + name_suffix();
  if (!text_at(metadata, "resourceVersion").empty())
    throw internal_error("resourceVersion should not be set on objects to be created");
  for (const char* field :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"})
    metadata.erase(field);
  metadata["uid"] = uuid();
  metadata["creationTimestamp"] = timestamp();
  if (type.namespaced()) metadata["namespace"] = name_space;
  if (type.generation == Generation::of_spec)
    metadata["generation"] = 1;
  else
    metadata.erase("generation");
  if (type.status == HasStatus::yes && type.id != Kind::nodes) object.erase("status");
  set_defaults(type, nullptr, object);
  if (type.id == Kind::services) allocate_address(object);
  if (type.id == Kind::jobs) select_own_pods(object);
}

void Registry::prepare_pod(Json& pod) {
  complete_pod(store_, pod);
  set_defaults(type_of(Kind::pods), nullptr, pod);
  pod["status"] = {{"phase", "Pending"}, {"qosClass", quality_of_service(pod)}};
}

void Registry::allocate_address(Json& service) {
  Json& spec = service["spec"];
  if (text_at(spec, "type") == "ExternalName" || spec.contains("clusterIP")) return;
  spec["clusterIP"] = service_address(++addresses_);
  spec["clusterIPs"] = {spec["clusterIP"]};
}

void Registry::admit(const Type& type, const Json& object) const {
  validate(type, nullptr, object);
  if (type.id == Kind::pods) check_pod_policies(store_, object);
  if (type.namespaced()) check_quotas(store_, type, object);
}

ObjectPtr Registry::create(const Type& type, const std::string& name_space, Json object,
                           const Request& request) {
  adopt_place(type, name_space, "", object);
  check_namespace(store_, type, object);
  object["metadata"].erase("managedFields");
  prepare_create(type, name_space, object);
  const Key key = key_of(type, name_space, name_of(object));
  // Fields that admission fills in are owned by nobody, so ownership is recorded first.
  track_update(type, nullptr, object, request.writer);
  if (type.id == Kind::pods) prepare_pod(object);
  admit(type, object);
  if (store_.find(key)) throw already_exists(type, key.name);
  return commit(key, nullptr, std::move(object), request.dry_run);
}

// Replaces `live` by `next` on the writer's endpoint, with defaults, checks and generation.
ObjectPtr Registry::replace(const Type& type, const ObjectPtr& live, Json next,
                            const Request& request) {
  keep_system_fields(*live, next);
  if (request.writer.subresource == Subresource::status) {
    Json whole = *live;
    whole["status"] = next.contains("status") ? next["status"] : Json::object();
    if (const Json& managers = at_path(next, "/metadata/managedFields"); !managers.is_null())
      whole["metadata"]["managedFields"] = managers;
    return std::make_shared<const Json>(std::move(whole));
  }
  set_defaults(type, *live, next);
  validate(type, *live, next);
  if (type.status == HasStatus::yes) {
    next.erase("status");
    if (live->contains("status")) next["status"] = (*live)["status"];
  }
  if (type.generation == Generation::of_spec && spec_changed(type, *live, next))
    next["metadata"]["generation"] = number_at(*live, "/metadata/generation", 0) + 1;
  return std::make_shared<const Json>(std::move(next));
}

Applied Registry::put(const Type& type, const std::string& name_space, const std::string& name,
                      Json object, const Request& request) {
  adopt_place(type, name_space, name, object);
  const Key key = key_of(type, name_space, name);
  const ObjectPtr live = store_.find(key);
  const std::string version = text_at(object["metadata"], "resourceVersion");
  if (!live) {
    if (type.put != Put::or_create) throw not_found(type, name);
    object["metadata"].erase("resourceVersion");
    return {create(type, name_space, std::move(object), request), true};
  }
  if (type.put != Put::unconditional && version.empty()) {
    Type by_plural = type;  // the API server names the plural in this message
    by_plural.kind = type.plural;
    throw invalid(
        by_plural, name,
        {invalid_value("metadata.resourceVersion", 0, "must be specified for an update")});
  }
  if (!version.empty() && version != text_at((*live)["metadata"], "resourceVersion"))
    throw modified_meanwhile(type, name);
  const std::string uid = uid_of(object);
  if (!uid.empty() && uid != uid_of(*live))
    throw conflict(type, name,
                   "Precondition failed: UID in precondition: " + uid +
                       ", UID in object meta: " + uid_of(*live));
  Json next = *replace(type, live, std::move(object), request);
  track_update(type, *live, next, request.writer);
  const ObjectPtr stored = commit(key, live, std::move(next), request.dry_run);
  if (terminating(*stored) && request.dry_run == DryRun::no && type.id != Kind::namespaces &&
      (type.id != Kind::pods || number_at(*stored, "/metadata/deletionGracePeriodSeconds", 0) == 0))
    finish(key);
  return {stored, false};
}

ObjectPtr Registry::patch(PatchType how, const Type& type, const std::string& name_space,
                          const std::string& name, const Json& patch, const Request& request) {
  Json object = *get(type, name_space, name);
  const std::string current = text_at(object["metadata"], "resourceVersion");
  const std::string version = text_at(at_path(patch, "/metadata"), "resourceVersion");
  if (!version.empty() && version != current) throw modified_meanwhile(type, name);
  object = patched(how, std::move(object), patch);
  object["metadata"]["resourceVersion"] = current;
  return update(type, name_space, name, std::move(object), request);
}

Json Registry::patched(PatchType how, Json object, const Json& patch) {
  try {
    switch (how) {
      case PatchType::merge:
        object.merge_patch(patch);
        break;
      case PatchType::strategic:
        object = strategic_merge(object, patch);
        break;
      case PatchType::json:
        object = object.patch(patch);
        break;
    }
  } catch (const MergeError& failure) {
    throw bad_request(failure.what());
  } catch (const Json::exception&) {
    throw Refusal(status_failure(422, "Invalid",
                                 "the server rejected our request due to an error in our request"));
  }
  return object;
}

// (kubernetes, pkg/apis/core/validation, ValidatePodResize)
ObjectPtr Registry::resize(PatchType how, const std::string& name_space, const std::string& name,
                           const Json& patch, const Request& request) {
  const Type& type = type_of(Kind::pods);
  const ObjectPtr live = get(type, name_space, name);
  const std::string version = text_at(at_path(patch, "/metadata"), "resourceVersion");
  if (!version.empty() && version != text_at((*live)["metadata"], "resourceVersion"))
    throw modified_meanwhile(type, name);
  const Json wanted = patched(how, *live, patch);
  Json next = *live;
  Json others = wanted["spec"];
  if (at_path(others, "/containers").size() != next["spec"]["containers"].size())
    throw invalid(type, name,
                  {forbidden_field("spec.containers",
                                   "containers may not be added or "
                                   "removed on resize")});
  for (size_t i = 0; i < next["spec"]["containers"].size(); ++i) {
    Json& own = next["spec"]["containers"][i]["resources"];
    Json& asked = others["containers"][i]["resources"];
    for (const char* part : {"limits", "requests"})
      for (const char* resource : {"cpu", "memory"}) {
        if (!at_path(asked, (std::string("/") + part).c_str()).contains(resource)) continue;
        own[part][resource] = asked[part][resource];
      }
    if (own != asked)
      throw invalid(type, name,
                    {forbidden_field("spec", "only cpu and memory resources are mutable")});
  }
  if (others != next["spec"])
    throw invalid(type, name,
                  {forbidden_field("spec", "only cpu and memory resources are mutable")});
  set_defaults(type, *live, next);
  validate(type, nullptr, next);
  if (quality_of_service(next) != quality_of_service(*live))
    throw invalid(type, name,
                  {invalid_value("metadata.name", name,
                                 "Pod QOS Class may not change as a result of resizing")});
  check_pod_policies(store_, next);
  check_quotas(store_, type, next, live.get());
  if (spec_changed(type, *live, next))
    next["metadata"]["generation"] = number_at(*live, "/metadata/generation", 0) + 1;
  track_update(type, *live, next, request.writer);
  return commit(key_of(type, name_space, name), live, std::move(next), request.dry_run);
}

Applied Registry::apply(const Type& type, const std::string& name_space, const std::string& name,
                        const Json& config, const Request& request, Force force) {
  Json wanted = config;
  if (wanted.contains("metadata") && !at_path(wanted, "/metadata/managedFields").is_null())
    throw bad_request("metadata.managedFields must be nil");
  adopt_place(type, name_space, name, wanted);
  const Key key = key_of(type, name_space, name);
  const ObjectPtr live = store_.find(key);
  const std::string version = text_at(wanted["metadata"], "resourceVersion");
  const std::string uid = uid_of(wanted);
  if (!live) {
    if (request.writer.subresource == Subresource::status) throw not_found(type, name);
    if (!uid.empty())
      throw conflict(type, name,
                     "uid mismatch: the provided object specified uid " + uid +
                         ", and no existing object was found");
    if (!version.empty()) throw not_found(type, name);
    check_namespace(store_, type, wanted);
    Json object = embedded::apply(type, nullptr, wanted, request.writer, force);
    prepare_create(type, name_space, object);
    if (type.id == Kind::pods) prepare_pod(object);
    admit(type, object);
    return {commit(key, nullptr, std::move(object), request.dry_run), true};
  }
  if (!version.empty() && version != text_at((*live)["metadata"], "resourceVersion"))
    throw modified_meanwhile(type, name);
  if (!uid.empty() && uid != uid_of(*live))
    throw invalid(type, name, {invalid_value("metadata.uid", uid, "field is immutable")});
  Json merged = embedded::apply(type, *live, wanted, request.writer, force);
  const ObjectPtr next = replace(type, live, std::move(merged), request);
  const ObjectPtr stored = commit(key, live, *next, request.dry_run);
  if (terminating(*stored) && request.dry_run == DryRun::no && type.id != Kind::pods &&
      type.id != Kind::namespaces)
    finish(key);
  return {stored, false};
}

void Registry::write_status(const Key& key, Json object, const std::string& manager) {
  const ObjectPtr live = store_.find(key);
  if (!live || uid_of(*live) != uid_of(object)) return;
  if (*live == object) return;
  track_update(type_of(key.kind), *live, object, {manager, Subresource::status});
  store_.put(key, std::move(object));
}

void Registry::finish(const Key& key) {
  const ObjectPtr live = store_.find(key);
  if (live && !has_finalizers(*live)) store_.erase(key);
}

}  // namespace berth::embedded
