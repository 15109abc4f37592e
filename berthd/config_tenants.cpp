// The keys tenant-node-selector and tenant-tolerations. Both are written as kubectl has them, or as
// the YAML of a pod.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "berthd/config_keys.h"

namespace berth {
namespace {

using nlohmann::json;

// Limits of label values and of names in label keys (kubernetes.io, "Labels and Selectors").
constexpr size_t longest_label_part = 63;

constexpr std::array effects =
    std::to_array<std::string_view>({"NoSchedule", "PreferNoSchedule", "NoExecute"});

bool is_qualified(std::string_view text) {
  const auto is_outer = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= longest_label_part && is_outer(text.front()) &&
         is_outer(text.back()) && std::ranges::all_of(text, [&](char c) {
           return is_outer(c) || c == '-' || c == '_' || c == '.';
         });
}

bool is_label_key(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return is_qualified(key);
  return is_object_name(key.substr(0, slash)) && is_qualified(key.substr(slash + 1));
}

bool is_label_value(std::string_view value) { return value.empty() || is_qualified(value); }

// KEY[=VALUE][:EFFECT], as in `kubectl taint`.
json toleration_of(const std::string& text) {
  const size_t colon = text.rfind(':');
  const std::string label = text.substr(0, colon);
  const size_t equals = label.find('=');
  json toleration = {{"key", label.substr(0, equals)}};
  toleration["operator"] = equals == std::string::npos ? "Exists" : "Equal";
  if (equals != std::string::npos) toleration["value"] = label.substr(equals + 1);
  if (colon != std::string::npos) toleration["effect"] = text.substr(colon + 1);
  return toleration;
}

// Whether it is a toleration as the API server takes it in a pod (kubernetes.io, "Taints and
// Tolerations").
bool is_toleration(const json& entry) {
  if (!entry.is_object()) return false;
  const auto text = [&](const char* field) {
    const auto found = entry.find(field);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  for (const auto& [field, value] : entry.items()) {
    const bool is_text =
        field == "key" || field == "operator" || field == "value" || field == "effect";
    const bool is_number = field == "tolerationSeconds";
    if (!(is_text && value.is_string()) && !(is_number && value.is_number_integer())) return false;
  }
  const bool exists = text("operator") == "Exists";
  if (!exists && !text("operator").empty() && text("operator") != "Equal") return false;
  if (text("key").empty() ? !exists : !is_label_key(text("key"))) return false;
  if (exists ? !text("value").empty() : !is_label_value(text("value"))) return false;
  if (entry.contains("tolerationSeconds") && text("effect") != "NoExecute") return false;
  return text("effect").empty() || std::ranges::find(effects, text("effect")) != effects.end();
}

}  // namespace

void take_tenant_node_selector(Config& config, const std::string& text) {
  constexpr const char* wanted =
      "a list of labels, such as kubernetes.io/os=linux, or a map of texts";
  config.tenant_node_selector.clear();
  if (text.empty()) return;
  const json value = structured_value(text);
  json labels = value.is_object() ? value : json::object();
  if (value.is_string())
    for (const std::string& item : list_items(text)) {
      const size_t equals = item.find('=');
      if (equals == std::string::npos) want(wanted);
      labels[item.substr(0, equals)] = item.substr(equals + 1);
    }
  if (labels.empty()) want(wanted);
  for (const auto& [key, label] : labels.items()) {
    if (!is_label_key(key) || !label.is_string() || !is_label_value(label.get<std::string>()))
      want(wanted);
    config.tenant_node_selector[key] = label;
  }
}

void take_tenant_tolerations(Config& config, const std::string& text) {
  constexpr const char* wanted =
      "a list of taints, such as berth.example.org/tenants=yes:NoSchedule, or of tolerations";
  config.tenant_tolerations = json::array();
  if (text.empty()) return;
  const json value = structured_value(text);
  if (!value.is_string() && !value.is_array()) want(wanted);
  if (value.is_array())
    config.tenant_tolerations = value;
  else
    for (const std::string& item : list_items(text))
      config.tenant_tolerations.push_back(toleration_of(item));
  if (!std::ranges::all_of(config.tenant_tolerations, is_toleration)) want(wanted);
}

}  // namespace berth
