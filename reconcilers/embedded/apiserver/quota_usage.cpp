#include "reconcilers/embedded/apiserver/quota_usage.h"

namespace berth::embedded {
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
bool counted(Kind kind, const Json* object) {
  if (object == nullptr || kind != Kind::pods) return object != nullptr;
  const std::string phase = text_at(at_path(*object, "/status"), "phase");
  return phase != "Failed" && phase != "Succeeded";
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

void QuotaUsage::count(Kind kind, const std::string& name_space, const Json* before,
                       const Json* after) {
  if (name_space.empty() || kind == Kind::events) return;
  const bool counted_before = counted(kind, before);
  const bool counted_after = counted(kind, after);
  // Of the objects that stay, only a service and a pod can come to count for something else.
  const bool may_differ =
      kind == Kind::services ||
      (kind == Kind::pods && counted_before && counted_after &&
       at_path(*before, "/metadata/generation") != at_path(*after, "/metadata/generation"));
  if (counted_before == counted_after && !may_differ) return;
  Amounts& used = used_[name_space];
  if (counted_before)
    for (const auto& [resource, amount] : charges(type_of(kind), *before))
      used[resource] = used[resource] - amount;
  if (counted_after)
    for (const auto& [resource, amount] : charges(type_of(kind), *after))
      add(used, resource, amount);
  std::erase_if(used, [](const auto& entry) { return entry.second == Quantity(); });
  if (used.empty()) used_.erase(name_space);
}

Quantity QuotaUsage::of(const std::string& name_space, const std::string& resource) const {
  const auto used = used_.find(name_space);
  if (used == used_.end()) return {};
  const auto found = used->second.find(resource);
  return found == used->second.end() ? Quantity() : found->second;
}

}  // namespace berth::embedded
