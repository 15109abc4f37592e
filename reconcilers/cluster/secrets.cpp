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

bool has_credentials(const Object& deployment) {
  const Object& used = field(deployment, {"spec", "template", "spec", "imagePullSecrets"});
  return used.is_array() && !used.empty();
}

}  // namespace

bool is_secret(const Object& object) { return text_at(object, {"kind"}) == kube::secrets.kind; }

int Secrets::write(const std::vector<Object>& desired) {
  const Object* wanted = deployment_among(desired);
  const ObjectPtr live = wanted != nullptr ? cache_.find(*wanted) : nullptr;
  if (live && secrets_hash(*live) == secrets_hash(*wanted)) return 0;
  int writes = 0;
  for (const Object& object : desired) {
    if (!is_secret(object)) continue;
    client_.apply(object);
    ++writes;
  }
  if (!live) return writes;
  if (has_variables(*live) && !has_variables(*wanted)) {
    client_.apply(manifests::emptied_secret(*wanted));
    ++writes;
  }
  if (has_credentials(*live) && !has_credentials(*wanted))
    writes +=
        remove(namespace_of(*live),
               {manifests::registry_secret_name(label_of(*live, manifests::deployment_label))});
  return writes;
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
