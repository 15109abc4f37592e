#include "reconcilers/cluster/differ.h"

#include <algorithm>
#include <array>

#include "controller/base/quantity.h"
#include "manifests/manifests.h"

namespace berth::reconcilers {
namespace {

using nlohmann::json;

// All texts and numbers below these keys are quantities.
constexpr std::array quantity_parents = {"limits",         "requests", "hard", "default",
                                         "defaultRequest", "max",      "min"};
constexpr std::string_view quantity_field = "sizeLimit";

// The lists, in the objects that we make, whose items are identified by keys
// (`x-kubernetes-list-map-keys` in the API's OpenAPI document). All other lists are compared as a
// whole, including their order.
struct KeyedList {
  std::string_view field;
  std::array<std::string_view, 2> keys;  // the second one may be empty
};
constexpr std::array keyed_lists = {
    KeyedList{"containers", {"name", ""}},
    KeyedList{"initContainers", {"name", ""}},
    KeyedList{"env", {"name", ""}},
    KeyedList{"volumes", {"name", ""}},
    KeyedList{"volumeMounts", {"mountPath", ""}},
    KeyedList{"imagePullSecrets", {"name", ""}},
    KeyedList{"ports", {"containerPort", "protocol"}},
    KeyedList{"ports", {"port", "protocol"}},
};

bool is_empty(const json& value) {
  return value.is_null() || ((value.is_object() || value.is_array()) && value.empty());
}

bool is_quantity_parent(std::string_view field) {
  return std::find(quantity_parents.begin(), quantity_parents.end(), field) !=
         quantity_parents.end();
}

std::optional<long double> quantity_of(const json& value) {
  if (value.is_number()) return static_cast<long double>(value.get<double>());
  if (value.is_string()) return parse_quantity(value.get_ref<const std::string&>());
  return std::nullopt;
}

const KeyedList* keyed_list(std::string_view field, const json& list) {
  const auto found =
      std::find_if(keyed_lists.begin(), keyed_lists.end(), [&](const KeyedList& known) {
        return known.field == field && std::all_of(list.begin(), list.end(), [&](const json& item) {
                 return item.is_object() && item.contains(known.keys[0]);
               });
      });
  return found == keyed_lists.end() ? nullptr : &*found;
}

bool same_key(const KeyedList& list, const json& a, const json& b) {
  return std::all_of(list.keys.begin(), list.keys.end(), [&](std::string_view key) {
    return key.empty() || a.value(key, json()) == b.value(key, json());
  });
}

enum class Scalars { as_they_are, as_quantities };

bool covers(const json& live, const json& desired, std::string_view field, Scalars scalars);

bool covers_object(const json& live, const json& desired, std::string_view parent) {
  return std::all_of(desired.items().begin(), desired.items().end(), [&](const auto& entry) {
    if (is_empty(entry.value())) return true;
    const bool quantity = is_quantity_parent(parent) || entry.key() == quantity_field;
    const auto found = live.find(entry.key());
    return found != live.end() && covers(*found, entry.value(), entry.key(),
                                         quantity ? Scalars::as_quantities : Scalars::as_they_are);
  });
}

bool covers_list(const json& live, const json& desired, std::string_view field) {
  if (const KeyedList* known = keyed_list(field, desired)) {
    return std::all_of(desired.begin(), desired.end(), [&](const json& wanted) {
      return std::any_of(live.begin(), live.end(), [&](const json& item) {
        return item.is_object() && same_key(*known, wanted, item) &&
               covers(item, wanted, "", Scalars::as_they_are);
      });
    });
  }
  return std::equal(desired.begin(), desired.end(), live.begin(), live.end(),
                    [](const json& wanted, const json& item) {
                      return covers(item, wanted, "", Scalars::as_they_are);
                    });
}

bool covers(const json& live, const json& desired, std::string_view field, Scalars scalars) {
  if (desired.is_object()) return live.is_object() && covers_object(live, desired, field);
  if (desired.is_array()) return live.is_array() && covers_list(live, desired, field);
  if (desired == live) return true;
  if (scalars == Scalars::as_they_are) return false;
  const auto wanted = quantity_of(desired);
  return wanted && wanted == quantity_of(live);
}

bool has_unwanted(const json& fields, const json& desired);

// `k:{…}` names the list item that has these keys (kubernetes.io, "FieldsV1").
bool item_is_unwanted(const std::string& key, const json& fields, const json& desired) {
  const json keys = json::parse(key, nullptr, /*allow_exceptions=*/false);
  if (!desired.is_array() || !keys.is_object()) return true;
  const auto item = std::find_if(desired.begin(), desired.end(), [&](const json& candidate) {
    return candidate.is_object() &&
           std::all_of(keys.items().begin(), keys.items().end(), [&](const auto& part) {
             return candidate.value(part.key(), json()) == part.value();
           });
  });
  return item == desired.end() || has_unwanted(fields, *item);
}

bool has_unwanted(const json& fields, const json& desired) {
  if (!fields.is_object()) return false;
  return std::any_of(fields.items().begin(), fields.items().end(), [&](const auto& entry) {
    const std::string_view name = entry.key();
    if (name.starts_with("f:")) {
      const auto found = desired.is_object() ? desired.find(name.substr(2)) : desired.end();
      return found == desired.end() || has_unwanted(entry.value(), *found);
    }
    if (name.starts_with("k:"))
      return item_is_unwanted(std::string(name.substr(2)), entry.value(), desired);
    if (name.starts_with("v:")) {
      const json value = json::parse(name.substr(2), nullptr, false);
      return !desired.is_array() ||
             std::find(desired.begin(), desired.end(), value) == desired.end();
    }
    return false;  // "." stands for the object or list itself
  });
}

// The managed fields as a tree: the API server sends them so, while a Store keeps them as text.
json fields_of(const json& entry) {
  const auto fields = entry.find("fieldsV1");
  if (fields == entry.end()) return {};
  if (!fields->is_string()) return *fields;
  return json::parse(fields->get_ref<const std::string&>(), nullptr, /*allow_exceptions=*/false);
}

std::string hash_annotation_of(const Object& object) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end()) return "";
  const auto annotations = metadata->find("annotations");
  if (annotations == metadata->end() || !annotations->is_object()) return "";
  const json hash = annotations->value(manifests::hash_annotation, json());
  return hash.is_string() ? hash.get<std::string>() : "";
}

}  // namespace

bool is_subset(const Object& desired, const Object& live) {
  return covers(live, desired, "", Scalars::as_they_are);
}

bool holds_unwanted_fields(const Object& desired, const Object& live) {
  const auto metadata = live.find("metadata");
  if (metadata == live.end()) return false;
  const auto managers = metadata->find("managedFields");
  if (managers == metadata->end() || !managers->is_array()) return false;
  return std::any_of(managers->begin(), managers->end(), [&](const json& entry) {
    return entry.value("manager", "") == field_manager && entry.value("operation", "") == "Apply" &&
           entry.value("subresource", "").empty() && has_unwanted(fields_of(entry), desired);
  });
}

bool differs(const Object& desired, const Object& live) {
  return hash_annotation_of(desired) != hash_annotation_of(live) || !is_subset(desired, live) ||
         holds_unwanted_fields(desired, live);
}

}  // namespace berth::reconcilers
