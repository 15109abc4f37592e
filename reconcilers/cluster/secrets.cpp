#include "reconcilers/cluster/secrets.h"

#include <algorithm>

namespace berth::reconcilers {
namespace {

std::string secrets_hash(const Object& deployment) {
  return text_at(deployment, {"metadata", "annotations", manifests::secrets_annotation});
}

// The Deployment of the deployment's first process; those of the others name the same Secrets.
const Object* deployment_among(const std::vector<Object>& objects) {
  const auto found = std::ranges::find_if(objects, [](const Object& object) {
    return text_at(object, {"kind"}) == kube::deployments.kind;
  });
  return found == objects.end() ? nullptr : &*found;
}

bool has_variables(const Object& deployment) {
  const Object& containers = field(deployment, {"spec", "template", "spec", "containers"});
  return containers.is_array() && !containers.empty() && containers.front().contains("envFrom");
}

bool has_credentials(const Object& deployment) {
  const Object& used = field(deployment, {"spec", "template", "spec", "imagePullSecrets"});
  return used.is_array() && !used.empty();
}

}  // namespace

bool is_secret(const Object& object) { return text_at(object, {"kind"}) == kube::secrets.kind; }

int Secrets::write(const std::vector<Object>& desired) {
  const Object* wanted = deployment_among(desired);
  if (wanted == nullptr) return 0;
  const std::string id = label_of(*wanted, manifests::deployment_label);
  const auto live = cache_.store(kube::deployments).of_deployment(id);
  const auto has_them = [&](const ObjectPtr& one) {
    return secrets_hash(*one) == secrets_hash(*wanted);
  };
  // Each was applied after the Secrets that it names. One that is older still names the former
  // ones; it is applied next, and its hash differs until then.
  if (!live.empty() && std::ranges::all_of(live, has_them)) return 0;
  const auto gives_up = [&](bool (*has)(const Object&)) {
    return !has(*wanted) &&
           std::ranges::any_of(live, [&](const ObjectPtr& one) { return has(*one); });
  };
  const bool without_variables = gives_up(has_variables);
  const bool without_credentials = gives_up(has_credentials);
  // A restart of a deployment that has none changes the hash, too.
  if (!without_variables && !without_credentials && std::ranges::none_of(desired, is_secret))
    return 0;
  int writes = 0;
  for (const ObjectPtr& one : live) writes += forget_hash(*one);
  for (const Object& object : desired) {
    if (!is_secret(object)) continue;
    client_.apply(object);
    ++writes;
  }
  if (without_variables) {
    client_.apply(manifests::emptied_secret(*wanted));
    ++writes;
  }
  if (without_credentials)
    writes += remove(namespace_of(*wanted), {manifests::registry_secret_name(id)});
  return writes;
}

int Secrets::forget_hash(const Object& deployment) {
  if (secrets_hash(deployment).empty()) return 0;
  cache_.note(client_.merge({{"apiVersion", kube::deployments.api_version},
                             {"kind", kube::deployments.kind},
                             {"metadata",
                              {{"name", name_of(deployment)},
                               {"namespace", namespace_of(deployment)},
                               {"uid", uid_of(deployment)},
                               {"annotations", {{manifests::secrets_annotation, ""}}}}}}));
  return 1;
}

int Secrets::remove(const std::string& name_space, const std::vector<std::string>& names) {
  const ObjectPtr home = cache_.store(kube::namespaces).find("", name_space);
  if (!home || is_being_deleted(*home)) return 0;
  int removed = 0;
  for (const std::string& name : names)
    if (client_.remove(kube::secrets, name_space, name)) ++removed;
  return removed;
}

}  // namespace berth::reconcilers
