#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace berth::reconcilers {

using Object = nlohmann::json;

// The name under which berth owns fields in server-side apply (kubernetes.io, "Server-Side Apply").
inline constexpr std::string_view field_manager = "berth";

// Whether `desired` has to be applied because `live` (an object from the API server or from a
// Store) doesn't match it. That is so if the hash annotations differ; if `desired` isn't a subset
// of `live` (quantities are compared by value, keyed lists by their keys); or if `field_manager`
// owns fields that `desired` doesn't have. Fields that others added don't count. This is a pure
// function.
bool differs(const Object& desired, const Object& live);

// The parts of differs(), for tests and messages. `is_subset` treats empty lists, empty objects and
// nulls in `desired` as absent, because the API server drops them.
bool is_subset(const Object& desired, const Object& live);
bool holds_unwanted_fields(const Object& desired, const Object& live);

}  // namespace berth::reconcilers
