#include "reconcilers/cluster/fields.h"

#include <algorithm>

namespace berth::reconcilers {
namespace {

const Object null;

}  // namespace

const Object& field(const Object& object, Path path) {
  const Object* at = &object;
  for (const std::string_view name : path) {
    if (!at->is_object()) return null;
    const auto found = at->find(name);
    if (found == at->end()) return null;
    at = &*found;
  }
  return *at;
}

std::string text_at(const Object& object, Path path) {
  const Object& value = field(object, path);
  return value.is_string() ? value.get<std::string>() : "";
}

std::int64_t number_at(const Object& object, Path path) {
  const Object& value = field(object, path);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

bool flag_at(const Object& object, Path path) { return field(object, path) == Object(true); }

std::optional<Instant> instant_at(const Object& object, Path path) {
  return parse_iso8601(text_at(object, path));
}

std::string name_of(const Object& object) { return text_at(object, {"metadata", "name"}); }
std::string namespace_of(const Object& object) {
  return text_at(object, {"metadata", "namespace"});
}
std::string uid_of(const Object& object) { return text_at(object, {"metadata", "uid"}); }

std::string label_of(const Object& object, std::string_view label) {
  return text_at(object, {"metadata", "labels", label});
}

bool is_being_deleted(const Object& object) {
  return !text_at(object, {"metadata", "deletionTimestamp"}).empty();
}

const Object& condition(const Object& object, std::string_view type) {
  const Object& all = field(object, {"status", "conditions"});
  if (!all.is_array()) return null;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Object& entry) {
    return text_at(entry, {"type"}) == type;
  });
  return found == all.end() ? null : *found;
}

}  // namespace berth::reconcilers
