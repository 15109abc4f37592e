#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"

// Functions that read fields of the API server's objects. A field that is missing, or has another
// type, reads as null, "", 0, false or nothing.
namespace berth::reconcilers {

using Object = nlohmann::json;
using Path = std::initializer_list<std::string_view>;

const Object& field(const Object& object, Path path);
std::string text_at(const Object& object, Path path);
std::int64_t number_at(const Object& object, Path path);
bool flag_at(const Object& object, Path path);
std::optional<Instant> instant_at(const Object& object, Path path);

std::string name_of(const Object& object);
std::string namespace_of(const Object& object);
std::string uid_of(const Object& object);
std::string label_of(const Object& object, std::string_view label);
bool is_being_deleted(const Object& object);  // the object has a deletionTimestamp

// The entry of `status.conditions` that has this type; null if there is none.
const Object& condition(const Object& object, std::string_view type);

}  // namespace berth::reconcilers
