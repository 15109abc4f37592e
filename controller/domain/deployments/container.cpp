#include "controller/domain/deployments/container.h"

#include <nlohmann/json.hpp>

#include "controller/base/visible_text.h"

namespace berth::deployments {

using nlohmann::json;

namespace {

template <typename Value>
json json_of(const Value& value) {
  return value;
}
json json_of(const std::optional<Scale>& scale) { return scale ? json(*scale) : json(); }
// An empty map would become null.
json json_of(const Processes& processes) {
  json all = json::object();
  for (const auto& [name, process] : processes) all[name] = process;
  return all;
}

template <typename Value>
void take(const json& value, Value& to) {
  to = value.get<Value>();
}
void take(const json& value, std::optional<Scale>& to) { to = value.get<Scale>(); }

}  // namespace

json value_of(const ContainerSpec& container, const ContainerField& field) {
  json value = std::visit([&](auto member) { return json_of(container.*member); }, field.member);
  return value == "" ? json() : value;
}

void set_value(ContainerSpec& container, const ContainerField& field, const json& value) {
  const auto set = [&](auto member) {
    auto& to = container.*member;
    to = ContainerSpec().*member;
    if (!value.is_null()) take(value, to);
  };
  std::visit(set, field.member);
}

namespace {

// What the containers of the processes run, without how many there are of them.
Processes without_numbers(Processes processes) {
  for (auto& [name, process] : processes) {
    process.replicas.reset();
    process.scale.reset();
  }
  return processes;
}

}  // namespace

bool replaces_containers(const ContainerSpec& from, const ContainerSpec& to,
                         const ContainerField& field) {
  if (&field == &field_of(&ContainerSpec::processes))
    return without_numbers(from.processes) != without_numbers(to.processes);
  return field.replaces_container && value_of(from, field) != value_of(to, field);
}

ContainerSpec brought_back(ContainerSpec now, const ContainerSpec& earlier) {
  ContainerSpec next = now;
  for (const ContainerField& field : container_fields)
    if (replaces_containers(now, earlier, field)) set_value(next, field, value_of(earlier, field));
  for (auto& [name, process] : next.processes)
    if (const auto present = now.processes.find(name); present != now.processes.end()) {
      process.replicas = present->second.replicas;
      process.scale = present->second.scale;
    }
  return next;
}

bool is_within_limits(const ContainerSpec& container, const ContainerField& field) {
  const auto fits = [&](std::int64_t size) { return field.least <= size && size <= field.most; };
  const json value = value_of(container, field);
  if (value.is_null()) return field.is_removable();
  if (field.is_structure() || value.is_boolean()) return true;  // process_rules.h has their rules
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
