#include "reconcilers/embedded/apiserver/field_set.h"

namespace berth::embedded {

FieldSet FieldSet::from_json(const Json& fields_v1) {
  FieldSet set;
  for (const auto& [element, below] : fields_v1.items()) {
    if (element == ".") {
      set.member_ = true;
      continue;
    }
    FieldSet& child = set.children_[element];
    child = from_json(below);
    if (below.empty()) child.member_ = true;
  }
  return set;
}

Json FieldSet::to_json() const {
  Json fields = Json::object();
  if (member_ && !children_.empty()) fields["."] = Json::object();
  for (const auto& [element, child] : children_) fields[element] = child.to_json();
  return fields;
}

const FieldSet* FieldSet::find(const std::string& element) const {
  const auto found = children_.find(element);
  return found == children_.end() ? nullptr : &found->second;
}

void FieldSet::add(const FieldSet& other) {
  member_ = member_ || other.member_;
  for (const auto& [element, child] : other.children_) children_[element].add(child);
}

FieldSet FieldSet::minus(const FieldSet& other) const {
  FieldSet rest;
  rest.member_ = member_ && !other.member_;
  for (const auto& [element, child] : children_) {
    const FieldSet* theirs = other.find(element);
    FieldSet left = theirs ? child.minus(*theirs) : child;
    if (!left.empty()) rest.children_[element] = std::move(left);
  }
  return rest;
}

FieldSet FieldSet::common_with(const FieldSet& other) const {
  FieldSet common;
  common.member_ = member_ && other.member_;
  for (const auto& [element, child] : children_) {
    const FieldSet* theirs = other.find(element);
    if (!theirs) continue;
    FieldSet both = child.common_with(*theirs);
    if (!both.empty()) common.children_[element] = std::move(both);
  }
  return common;
}

FieldSet FieldSet::with_named_parents() const {
  FieldSet named;
  named.member_ = member_;
  for (const auto& [element, child] : children_) {
    FieldSet below = child.with_named_parents();
    if (element.starts_with("f:") && !below.children_.empty()) below.member_ = true;
    named.children_[element] = std::move(below);
  }
  return named;
}

// `f:image` becomes `.image`, `k:{"name":"web"}` becomes `[name="web"]`, `v:"x"` becomes `[="x"]`.
std::string shown_element(const std::string& element) {
  const std::string rest = element.substr(2);
  if (element.starts_with("f:")) return "." + rest;
  if (element.starts_with("v:")) return "[=" + rest + "]";
  std::string keys;
  const Json parsed = Json::parse(rest, nullptr, false);
  for (const auto& [key, value] : parsed.items())
    keys += (keys.empty() ? "" : ",") + key + "=" + value.dump();
  return "[" + keys + "]";
}

void FieldSet::collect(const std::string& prefix, std::vector<std::string>& found) const {
  for (const auto& [element, child] : children_)
    if (child.member_) found.push_back(prefix + shown_element(element));
  for (const auto& [element, child] : children_)
    child.collect(prefix + shown_element(element), found);
}

std::vector<std::string> FieldSet::paths() const {
  std::vector<std::string> found;
  collect("", found);
  return found;
}

}  // namespace berth::embedded
