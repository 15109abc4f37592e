#pragma once

#include <map>
#include <string>
#include <vector>

#include "reconcilers/embedded/apiserver/types.h"

// The set of an object's fields that somebody owns: FieldsV1 of metadata.managedFields
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/,
// sigs.k8s.io/structured-merge-diff, package fieldpath).
namespace berth::embedded {

// A tree of path elements in the notation of FieldsV1: `f:spec`, `k:{"name":"web"}`, `v:"x"`. A
// node may be a member of the set itself, have members below it, or both.
class FieldSet {
 public:
  // Converts from and to the form of metadata.managedFields.
  static FieldSet from_json(const Json& fields_v1);
  Json to_json() const;

  bool empty() const { return !member_ && children_.empty(); }
  bool member() const { return member_; }
  void set_member() { member_ = true; }
  // Returns the child, which is created if it doesn't exist.
  FieldSet& at(const std::string& element) { return children_[element]; }
  const FieldSet* find(const std::string& element) const;
  const std::map<std::string, FieldSet>& children() const { return children_; }
  // Removes the child with everything below it.
  void drop(const std::string& element) { children_.erase(element); }

  // Set operations on the members. add() is the union.
  void add(const FieldSet& other);
  FieldSet minus(const FieldSet& other) const;
  FieldSet common_with(const FieldSet& other) const;
  // This set, in which each named field (`f:…`) that has members below it is a member too.
  FieldSet with_named_parents() const;
  // The members except for the root, as `.spec.containers[name="web"].image`. A node's own members
  // come before those below them.
  std::vector<std::string> paths() const;

  bool operator==(const FieldSet&) const = default;

 private:
  void collect(const std::string& prefix, std::vector<std::string>& found) const;

  bool member_ = false;
  std::map<std::string, FieldSet> children_;
};

// A path element in the form that messages use: `.image`, `[name="web"]`, `[="x"]`.
std::string shown_element(const std::string& element);

}  // namespace berth::embedded
