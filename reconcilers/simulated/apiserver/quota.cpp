#include "reconcilers/simulated/apiserver/quota.h"

#include "reconcilers/simulated/apiserver/refusal.h"

namespace berth::simulated {
namespace {

void add(Amounts& to, const std::string& resource, const Quantity& amount) {
  const auto [entry, fresh] = to.try_emplace(resource, amount);
  if (!fresh) entry->second = entry->second + amount;
}

bool is_compute(const std::string& resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage";
}

void add_compute(const Json& container, Amounts& amounts) {
  for (const auto& [resource, amount] : at_path(container, "/resources/requests").items())
    if (const auto quantity = quantity_of(amount); quantity && is_compute(resource)) {
      add(amounts, resource, *quantity);
      add(amounts, "requests." + resource, *quantity);
    }
  for (const auto& [resource, amount] : at_path(container, "/resources/limits").items())
    if (const auto quantity = quantity_of(amount); quantity && is_compute(resource))
      add(amounts, "limits." + resource, *quantity);
}

// Pods that have ended count for nothing.
bool counted(const Type& type, const Json& object) {
  if (type.id != Kind::pods) return true;
  const std::string phase = text_at(at_path(object, "/status"), "phase");
  return phase != "Failed" && phase != "Succeeded";
}

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

Amounts used_of(const Store& store, const std::string& name_space, const Json& hard) {
  Amounts used;
  for (const Type& type : all_types()) {
    if (!type.namespaced()) continue;
    const std::string plural(type.plural);
    const bool of_interest = hard.contains(plural) ||
                             hard.contains("count/" + qualified_plural(type)) ||
                             type.id == Kind::pods;
    if (!of_interest) continue;
    for (const ObjectPtr& object : store.list(type.id, name_space))
      if (counted(type, *object))
        for (const auto& [resource, amount] : charges(type, *object)) add(used, resource, amount);
  }
  return used;
}

}  // namespace

Amounts charges(const Type& type, const Json& object) {
  Amounts amounts{{"count/" + qualified_plural(type), Quantity::of(1)}};
  switch (type.id) {
    case Kind::pods:
      amounts["pods"] = Quantity::of(1);
      for (const Json& container : at_path(object, "/spec/containers"))
        add_compute(container, amounts);
      break;
    case Kind::services:
      if (text_at(at_path(object, "/spec"), "type") == "LoadBalancer")
        amounts["services.loadbalancers"] = Quantity::of(1);
      [[fallthrough]];
    case Kind::secrets:
    case Kind::config_maps:
    case Kind::resource_quotas:
      amounts[std::string(type.plural)] = Quantity::of(1);
      break;
    default:
      break;
  }
  return amounts;
}

Json quota_status(const Store& store, const Json& quota) {
  const Json& hard = at_path(quota, "/spec/hard");
  const Amounts used = used_of(store, namespace_of(quota), hard);
  Json status{{"hard", hard.is_object() ? hard : Json::object()}, {"used", Json::object()}};
  for (const auto& [resource, limit] : hard.items()) {
    const auto found = used.find(resource);
    status["used"][resource] = found == used.end() ? "0" : found->second.text();
  }
  return status;
}

void check_quotas(const Store& store, const Type& type, const Json& object) {
  const std::string name_space = namespace_of(object);
  const auto quotas = store.list(Kind::resource_quotas, name_space);
  if (quotas.empty()) return;
  const Amounts wanted = charges(type, object);
  for (const ObjectPtr& quota : quotas) {
    const Json& hard = at_path(*quota, "/spec/hard");
    if (type.id == Kind::pods)
      if (const std::string missing = unstated(hard, object); !missing.empty())
        throw forbidden(type, name_of(object),
                        "failed quota: " + name_of(*quota) + ": must specify " + missing);
    const Amounts used = used_of(store, name_space, hard);
    Amounts requested;
    Amounts taken;
    Amounts limited;
    for (const auto& [resource, amount] : wanted) {
      const auto limit = hard.contains(resource) ? quantity_of(hard[resource]) : std::nullopt;
      if (!limit) continue;
      const auto found = used.find(resource);
      const Quantity now = found == used.end() ? Quantity() : found->second;
      if (!(now + amount > *limit) || amount == Quantity()) continue;
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

}  // namespace berth::simulated
