#include "reconcilers/cluster/ownership.h"

#include <algorithm>

#include "reconcilers/cluster/differ.h"

namespace berth::reconcilers {
namespace {

bool is_ours(const Object& entry, std::string_view operation) {
  return text_at(entry, {"manager"}) == field_manager &&
         text_at(entry, {"operation"}) == operation && text_at(entry, {"subresource"}).empty();
}

bool is_by_create(const Object& entry) { return is_ours(entry, "Update"); }
bool is_by_apply(const Object& entry) { return is_ours(entry, "Apply"); }

// The API server wants the set itself, and kube::Client gives it as text.
void as_set(Object& entry) {
  const auto fields = entry.find("fieldsV1");
  if (fields != entry.end() && fields->is_string())
    *fields = Object::parse(fields->get_ref<const std::string&>());
}

}  // namespace

bool is_owned_by_create(const Object& live) {
  const Object& managers = field(live, {"metadata", "managedFields"});
  return managers.is_array() && std::ranges::any_of(managers, is_by_create);
}

Object owned_by_apply(const Object& live) {
  Object managers = field(live, {"metadata", "managedFields"});
  if (!managers.is_array()) return Object::array();
  std::ranges::for_each(managers, as_set);
  const auto created = std::ranges::find_if(managers, is_by_create);
  if (created == managers.end()) return managers;
  const auto applied = std::ranges::find_if(managers, is_by_apply);
  if (applied == managers.end()) {
    (*created)["operation"] = "Apply";
    return managers;
  }
  (*applied)["fieldsV1"].update((*created)["fieldsV1"], /*merge_objects=*/true);
  managers.erase(created);
  return managers;
}

}  // namespace berth::reconcilers
