#pragma once

#include <map>
#include <string>
#include <vector>

#include "reconcilers/simulated/apiserver/types.h"

// Which fields of an object somebody owns: the FieldsV1 of metadata.managedFields
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/, sigs.k8s.io/
// structured-merge-diff, package fieldpath).
namespace berth::simulated {

// A tree of path elements, each as FieldsV1 writes it: `f:spec`, `k:{"name":"web"}`, `v:"x"`.
// A node can be a member itself, and have members below it.
class FieldSet {
 public:
  static FieldSet from_json(const Json& fields_v1);
  Json to_json() const;

  bool empty() const { return !member_ && children_.empty(); }
  bool member() const { return member_; }
  void set_member() { member_ = true; }
  // The child, made if it isn't there.
  FieldSet& at(const std::string& element) { return children_[element]; }
  const FieldSet* find(const std::string& element) const;
  const std::map<std::string, FieldSet>& children() const { return children_; }
  // Removes the child and everything below it.
  void drop(const std::string& element) { children_.erase(element); }

  void add(const FieldSet& other);
  FieldSet minus(const FieldSet& other) const;
  FieldSet common_with(const FieldSet& other) const;
  // Also with each named field (`f:…`) as a member that has members below it.
  FieldSet with_named_parents() const;
  // Each member but the root as `.spec.containers[name="web"].image`; at each node its own members
  // first, then what is below them.
  std::vector<std::string> paths() const;

  bool operator==(const FieldSet&) const = default;

 private:
  void collect(const std::string& prefix, std::vector<std::string>& found) const;

  bool member_ = false;
  std::map<std::string, FieldSet> children_;
};

// A path element as messages show it: `.image`, `[name="web"]`, `[="x"]`.
std::string shown_element(const std::string& element);

}  // namespace berth::simulated
