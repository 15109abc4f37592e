#include "reconcilers/embedded/apiserver/quota.h"

#include "reconcilers/embedded/apiserver/refusal.h"

namespace berth::embedded {
namespace {

std::string shown(const Amounts& amounts) {
  std::string text;
  for (const auto& [resource, amount] : amounts)
    text += (text.empty() ? "" : ",") + resource + "=" + amount.text();
  return text;
}

// The resources that a quota counts and that some container doesn't state.
std::string unstated(const Json& hard, const Json& pod) {
  std::string missing;
  for (const auto& [resource, amount] : hard.items()) {
    const bool limit = resource.starts_with("limits.");
    const std::string plain = resource.starts_with("requests.") ? resource.substr(9)
                              : limit                           ? resource.substr(7)
                                                                : resource;
    if (plain != "cpu" && plain != "memory") continue;
    std::string names;
    for (const Json& container : at_path(pod, "/spec/containers"))
      if (!at_path(container, limit ? "/resources/limits" : "/resources/requests").contains(plain))
        names += (names.empty() ? "" : ",") + text_at(container, "name");
    if (!names.empty()) missing += (missing.empty() ? "" : "; ") + resource + " for: " + names;
  }
  return missing;
}

}  // namespace

Json quota_status(const Store& store, const Json& quota) {
  const Json& hard = at_path(quota, "/spec/hard");
  Json status{{"hard", hard.is_object() ? hard : Json::object()}, {"used", Json::object()}};
  for (const auto& [resource, limit] : hard.items())
    status["used"][resource] = store.used(namespace_of(quota), resource).text();
  return status;
}

void check_quotas(const Store& store, const Type& type, const Json& object, const Json* before) {
  const std::string name_space = namespace_of(object);
  const auto quotas = store.list(Kind::resource_quotas, name_space);
  if (quotas.empty()) return;
  Amounts wanted = charges(type, object);
  if (before != nullptr)
    for (const auto& [resource, amount] : charges(type, *before))
      wanted[resource] = wanted[resource] - amount;
  for (const ObjectPtr& quota : quotas) {
    const Json& hard = at_path(*quota, "/spec/hard");
    if (type.id == Kind::pods)
      if (const std::string missing = unstated(hard, object); !missing.empty())
        throw forbidden(type, name_of(object),
                        "failed quota: " + name_of(*quota) + ": must specify " + missing);
    Amounts requested;
    Amounts taken;
    Amounts limited;
    for (const auto& [resource, amount] : wanted) {
      const auto limit = hard.contains(resource) ? quantity_of(hard[resource]) : std::nullopt;
      if (!limit) continue;
      const Quantity now = store.used(name_space, resource);
      if (!(now + amount > *limit) || !(amount > Quantity())) continue;
      requested[resource] = amount;
      taken[resource] = now;
      limited[resource] = *limit;
    }
    if (!requested.empty())
      throw forbidden(type, name_of(object),
                      "exceeded quota: " + name_of(*quota) + ", requested: " + shown(requested) +
                          ", used: " + shown(taken) + ", limited: " + shown(limited));
  }
}

}  // namespace berth::embedded
