#include "reconcilers/embedded/apiserver/merge.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>

namespace berth::embedded {
namespace {

using Keys = std::vector<std::string_view>;

// The position of a value: the name of its field and of the field around it. Items of a list have
// the list's names.
struct Place {
  std::string_view parent;
  std::string_view field;
  bool item = false;
  Place below(std::string_view name) const { return {field, name}; }
  Place item_of() const { return {parent, field, true}; }
  auto operator<=>(const Place&) const = default;
};

struct KeyedList {
  std::string_view parent;
  std::string_view field;
  Keys keys;
};

const std::vector<KeyedList>& keyed_lists() {
  static const std::vector<KeyedList> lists{
      {"spec", "containers", {"name"}},
      {"spec", "initContainers", {"name"}},
      {"spec", "ephemeralContainers", {"name"}},
      {"spec", "volumes", {"name"}},
      {"spec", "imagePullSecrets", {"name"}},
      {"spec", "hostAliases", {"ip"}},
      {"spec", "schedulingGates", {"name"}},
      {"spec", "resourceClaims", {"name"}},
      {"spec", "topologySpreadConstraints", {"topologyKey", "whenUnsatisfiable"}},
      {"containers", "env", {"name"}},
      {"containers", "ports", {"containerPort", "protocol"}},
      {"containers", "volumeMounts", {"mountPath"}},
      {"containers", "volumeDevices", {"devicePath"}},
      {"initContainers", "env", {"name"}},
      {"initContainers", "ports", {"containerPort", "protocol"}},
      {"initContainers", "volumeMounts", {"mountPath"}},
      {"initContainers", "volumeDevices", {"devicePath"}},
      {"spec", "ports", {"port", "protocol"}},
      {"status", "conditions", {"type"}},
      {"status", "podIPs", {"ip"}},
      {"metadata", "ownerReferences", {"uid"}},
      {"", "secrets", {"name"}},
  };
  return lists;
}

const Keys* keys_of(const Place& place) {
  for (const KeyedList& list : keyed_lists())
    if (list.parent == place.parent && list.field == place.field) return &list.keys;
  return nullptr;
}

bool is_set(const Place& place) {
  return place.parent == "metadata" && place.field == "finalizers";
}

// Selectors and references, which have x-kubernetes-map-type: atomic.
bool is_atomic_object(const Place& place) {
  static constexpr std::array<std::string_view, 14> fields{
      "podSelector",     "namespaceSelector", "labelSelector",    "nodeSelector",  "secretKeyRef",
      "configMapKeyRef", "fieldRef",          "resourceFieldRef", "scopeSelector", "involvedObject",
      "related",         "secretRef",         "resource",         "claimRef"};
  static constexpr std::array<std::string_view, 3> items{"imagePullSecrets", "ownerReferences",
                                                         "secrets"};
  if (place.item) return std::find(items.begin(), items.end(), place.field) != items.end();
  if (place.field == "selector") return place.parent == "spec";
  return std::find(fields.begin(), fields.end(), place.field) != fields.end();
}

bool granular(const Json& value, const Place& place) {
  return value.is_object() && !is_atomic_object(place);
}

std::string key_element(const Json& item, const Keys& keys, const Place& place) {
  Json found = Json::object();
  for (const std::string_view key : keys) {
    const auto value = item.is_object() ? item.find(key) : item.end();
    if (item.is_object() && value != item.end())
      found[std::string(key)] = *value;
    else if (key == "protocol")
      found["protocol"] = "TCP";  // the schema's default for this key
    else
      throw MergeError(
          "." + std::string(place.field),
          "element 0: associative list with keys has an element that omits key field \"" +
              std::string(key) + "\" (and doesn't have default value)");
  }
  return "k:" + found.dump();
}

// The items of a list that isn't atomic, with their path elements, in order; nothing for other
// values.
std::optional<std::vector<std::pair<std::string, const Json*>>> items_of(const Json& list,
                                                                         const Place& place) {
  const Keys* keys = keys_of(place);
  if (!list.is_array() || (!keys && !is_set(place))) return std::nullopt;
  std::vector<std::pair<std::string, const Json*>> items;
  std::set<std::string> seen;
  for (const Json& item : list) {
    std::string element = keys ? key_element(item, *keys, place) : "v:" + item.dump();
    if (!seen.insert(element).second)
      throw MergeError("." + std::string(place.field),
                       "duplicate entries for key " + shown_element(element));
    items.emplace_back(std::move(element), &item);
  }
  return items;
}

void collect(const Json& value, const Place& place, FieldSet& set);

// Like collect(), but a MergeError names the path from here on. A list adds its own name.
void collect_below(const Json& value, const Place& place, FieldSet& set,
                   const std::string& element) {
  try {
    collect(value, place, set);
  } catch (const MergeError& failure) {
    const std::string here = shown_element(element);
    throw MergeError(failure.path == here ? here : here + failure.path, failure.problem);
  }
}

void collect(const Json& value, const Place& place, FieldSet& set) {
  if (granular(value, place) && !value.empty()) {
    for (const auto& [name, below] : value.items())
      if (!below.is_null())
        collect_below(below, place.below(name), set.at("f:" + name), "f:" + name);
  } else if (const auto items = items_of(value, place)) {
    for (const auto& [element, item] : *items) {
      FieldSet& below = set.at(element);
      if (item->is_object() && !is_atomic_object(place.item_of()))
        collect_below(*item, place.item_of(), below, element);
      below.set_member();
    }
  } else {
    set.set_member();
  }
}

void drop_empty(FieldSet& set) {
  std::vector<std::string> empty;
  for (const auto& [element, child] : set.children()) {
    drop_empty(set.at(element));
    if (set.at(element).empty()) empty.push_back(element);
  }
  for (const std::string& element : empty) set.drop(element);
}

Json merged(const Json& live, const Json& config, const Place& place);

using Items = std::vector<std::pair<std::string, const Json*>>;

// The order of items when one list is merged into another: items of both lists come in the
// configuration's order, items of the live list alone stay near their place. Several orders meet
// this rule, and the choice is visible in the object, so it is the one that structured-merge-diff
// makes.
std::vector<std::string> merged_order(const Items& live, const Items& config) {
  std::set<std::string> in_live;
  std::set<std::string> in_config;
  for (const auto& [element, item] : live) in_live.insert(element);
  for (const auto& [element, item] : config) in_config.insert(element);
  std::deque<std::string> shared;  // those that are still to be placed
  for (const auto& [element, item] : config)
    if (in_live.contains(element)) shared.push_back(element);
  std::vector<std::string> order;
  std::set<std::string> done;
  size_t old_at = 0;
  size_t new_at = 0;
  const auto take_new = [&] {
    const std::string& element = config[new_at++].first;
    if (!shared.empty() && shared.front() == element) shared.pop_front();
    done.insert(element);
    order.push_back(element);
  };
  while (old_at < live.size() || new_at < config.size()) {
    if (old_at == live.size()) {
      take_new();
      continue;
    }
    const std::string& old = live[old_at].first;
    if (new_at < config.size() && old == config[new_at].first) {
      ++old_at;
      take_new();
    } else if (!in_config.contains(old)) {
      ++old_at;
      order.push_back(old);
    } else if (new_at < config.size() && !shared.empty() && shared.front() != old) {
      ++old_at;
    } else {
      if (done.contains(old)) ++old_at;
      if (new_at < config.size()) take_new();
    }
  }
  return order;
}

Json merged_list(const Json& live, const Json& config, const Place& place) {
  const auto old_items = items_of(live, place);
  const auto new_items = items_of(config, place);
  if (!old_items || !new_items) return config;
  const std::map<std::string, const Json*> before(old_items->begin(), old_items->end());
  const std::map<std::string, const Json*> after(new_items->begin(), new_items->end());
  Json list = Json::array();
  for (const std::string& element : merged_order(*old_items, *new_items)) {
    const auto old = before.find(element);
    const auto fresh = after.find(element);
    if (fresh == after.end())
      list.push_back(*old->second);
    else
      list.push_back(old == before.end() ? *fresh->second
                                         : merged(*old->second, *fresh->second, place.item_of()));
  }
  return list;
}

Json merged(const Json& live, const Json& config, const Place& place) {
  if (live.is_object() && granular(config, place)) {
    Json object = live;
    for (const auto& [name, value] : config.items()) {
      if (value.is_null()) continue;
      const auto old = live.find(name);
      object[name] = merged(old == live.end() ? Json() : *old, value, place.below(name));
    }
    return object;
  }
  if (config.is_array() && live.is_array()) return merged_list(live, config, place);
  if (!config.is_object()) return config;
  Json object = Json::object();
  for (const auto& [name, value] : config.items())
    if (!value.is_null()) object[name] = value;
  return object;
}

Json removed(const Json& value, const FieldSet& fields, const Place& place);

// Null if nothing is left of an object or a list that had something in it.
Json removed_or_null(const Json& value, const FieldSet& fields, const Place& place) {
  Json kept = removed(value, fields, place);
  const bool emptied = (kept.is_object() || kept.is_array()) && kept.empty() && !value.empty();
  if (emptied) return {};
  return kept;
}

Json removed(const Json& value, const FieldSet& fields, const Place& place) {
  if (granular(value, place)) {
    Json object = Json::object();
    for (const auto& [name, below] : value.items()) {
      const FieldSet* inside = fields.find("f:" + name);
      if (inside && inside->member()) continue;
      object[name] = inside ? removed_or_null(below, *inside, place.below(name)) : below;
    }
    return object;
  }
  const auto items = items_of(value, place);
  if (!items) return value;
  Json list = Json::array();
  for (const auto& [element, item] : *items) {
    const FieldSet* inside = fields.find(element);
    if (inside && inside->member()) continue;
    list.push_back(inside ? removed(*item, *inside, place.item_of()) : *item);
  }
  return list;
}

// Adds to `set` everything inside a value that exists on one side only.
void one_sided(const Json& value, const Place& place, FieldSet& set) {
  set.set_member();
  if (granular(value, place)) {
    for (const auto& [name, below] : value.items())
      one_sided(below, place.below(name), set.at("f:" + name));
  } else if (const auto items = items_of(value, place)) {
    for (const auto& [element, item] : *items) one_sided(*item, place.item_of(), set.at(element));
  }
}

struct Sides {
  FieldSet& added;
  FieldSet& modified;
  FieldSet& removed;
  Sides at(const std::string& element) {
    return {added.at(element), modified.at(element), removed.at(element)};
  }
};

void compared(const Json& before, const Json& after, const Place& place, Sides sides) {
  if (after.is_null()) {
    if (granular(before, place)) {
      for (const auto& [name, value] : before.items())
        one_sided(value, place.below(name), sides.removed.at("f:" + name));
      return;
    }
    if (const auto items = items_of(before, place)) {
      for (const auto& [element, item] : *items)
        one_sided(*item, place.item_of(), sides.removed.at(element));
      return;
    }
  }
  if (granular(before, place) && granular(after, place)) {
    for (const auto& [name, value] : before.items()) {
      const auto other = after.find(name);
      if (other == after.end())
        one_sided(value, place.below(name), sides.removed.at("f:" + name));
      else if (value != *other)
        compared(value, *other, place.below(name), sides.at("f:" + name));
    }
    for (const auto& [name, value] : after.items())
      if (!before.contains(name)) one_sided(value, place.below(name), sides.added.at("f:" + name));
    return;
  }
  const auto old_items = items_of(before, place);
  const auto new_items = items_of(after, place);
  if (!old_items || !new_items) {
    if (before != after) sides.modified.set_member();
    return;
  }
  const std::map<std::string, const Json*> was(old_items->begin(), old_items->end());
  const std::map<std::string, const Json*> is(new_items->begin(), new_items->end());
  for (const auto& [element, item] : was) {
    const auto other = is.find(element);
    if (other == is.end())
      one_sided(*item, place.item_of(), sides.removed.at(element));
    else if (*item != *other->second)
      compared(*item, *other->second, place.item_of(), sides.at(element));
  }
  for (const auto& [element, item] : is)
    if (!was.contains(element)) one_sided(*item, place.item_of(), sides.added.at(element));
}

}  // namespace

FieldSet fields_of(const Json& config) {
  FieldSet set;
  collect(config, {}, set);
  drop_empty(set);
  return set;
}

Json merge(const Json& live, const Json& config) { return merged(live, config, {}); }

namespace {

void erase_nulls(Json& object, const Json& patch) {
  if (!object.is_object() || !patch.is_object()) return;
  for (const auto& [name, value] : patch.items()) {
    if (value.is_null())
      object.erase(name);
    else if (object.contains(name))
      erase_nulls(object[name], value);
  }
}

}  // namespace

Json strategic_merge(const Json& live, const Json& patch) {
  Json result = merge(live, patch);
  erase_nulls(result, patch);
  return result;
}

Json without(const Json& object, const FieldSet& fields) { return removed(object, fields, {}); }

void drop_nulls(Json& object) {
  if (object.is_array())
    for (Json& item : object) drop_nulls(item);
  if (!object.is_object()) return;
  for (auto at = object.begin(); at != object.end();) {
    drop_nulls(*at);
    at = at->is_null() ? object.erase(at) : std::next(at);
  }
}

Comparison compare(const Json& before, const Json& after) {
  Comparison result;
  compared(before, after, {}, {result.added, result.modified, result.removed});
  drop_empty(result.added);
  drop_empty(result.modified);
  drop_empty(result.removed);
  return result;
}

}  // namespace berth::embedded
