#include "reconcilers/cluster/secrets.h"

#include <algorithm>

namespace berth::reconcilers {
namespace {

std::string secrets_hash(const Object& deployment) {
  return text_at(deployment, {"metadata", "annotations", manifests::secrets_annotation});
}

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

}  // namespace

bool is_secret(const Object& object) { return text_at(object, {"kind"}) == kube::secrets.kind; }

int Secrets::write(const std::vector<Object>& desired) {
  if (are_written(desired)) return 0;
  int writes = 0;
  for (const Object& object : desired) {
    if (!is_secret(object)) continue;
    client_.apply(object);
    ++writes;
  }
  return writes + empty_variables(desired) + remove_credentials(desired);
}

int Secrets::empty_variables(const std::vector<Object>& desired) {
  const Object* wanted = deployment_among(desired);
  const ObjectPtr live = wanted != nullptr ? cache_.find(*wanted) : nullptr;
  if (!live || has_variables(*wanted) || !has_variables(*live)) return 0;
  client_.apply(manifests::emptied_secret(*wanted));
  return 1;
}

// Deletes the Secret with registry credentials if the Deployment on the cluster uses it and the
// desired one doesn't.
int Secrets::remove_credentials(const std::vector<Object>& desired) {
  const auto is_used_by = [](const Object& deployment) {
    const Object& used = field(deployment, {"spec", "template", "spec", "imagePullSecrets"});
    return used.is_array() && !used.empty();
  };
  const Object* wanted = deployment_among(desired);
  const ObjectPtr live = wanted != nullptr ? cache_.find(*wanted) : nullptr;
  if (!live || is_used_by(*wanted) || !is_used_by(*live)) return 0;
  return remove(namespace_of(*live),
                {manifests::registry_secret_name(label_of(*live, manifests::deployment_label))});
}

int Secrets::remove(const std::string& name_space, const std::vector<std::string>& names) {
  const ObjectPtr home = cache_.store(kube::namespaces).find("", name_space);
  if (!home || is_being_deleted(*home)) return 0;
  int removed = 0;
  for (const std::string& name : names)
    if (client_.remove(kube::secrets, name_space, name)) ++removed;
  return removed;
}

bool Secrets::are_written(const std::vector<Object>& desired) const {
  const Object* wanted = deployment_among(desired);
  const ObjectPtr live = wanted != nullptr ? cache_.find(*wanted) : nullptr;
  return live && secrets_hash(*live) == secrets_hash(*wanted);
}

}  // namespace berth::reconcilers
