#include "controller/domain/deployments/container.h"

#include <nlohmann/json.hpp>

#include "controller/base/visible_text.h"

namespace berth::deployments {

using nlohmann::json;

json value_of(const ContainerSpec& container, const ContainerField& field) {
  json value = std::visit([&](auto member) { return json(container.*member); }, field.member);
  return value == "" ? json() : value;
}

void set_value(ContainerSpec& container, const ContainerField& field, const json& value) {
  const auto set = [&](auto member) {
    auto& to = container.*member;
    to = value.is_null() ? ContainerSpec().*member : value.get<std::decay_t<decltype(to)>>();
  };
  std::visit(set, field.member);
}

bool is_within_limits(const ContainerSpec& container, const ContainerField& field) {
  const auto fits = [&](std::int64_t size) { return field.least <= size && size <= field.most; };
  const json value = value_of(container, field);
  if (value.is_null()) return field.is_removable();
  if (value.is_number()) return fits(value.get<std::int64_t>());
  if (value.is_string()) return fits(std::int64_t(value.get_ref<const std::string&>().size()));
  std::size_t bytes = 0;
  for (const std::string text : value) {
    if (!fits(std::int64_t(text.size())) || has_controls(text, Lines::several)) return false;
    bytes += text.size();
  }
  return value.size() <= field.most_texts && bytes <= field.most_bytes;
}

}  // namespace berth::deployments
