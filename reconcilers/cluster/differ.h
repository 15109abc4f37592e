#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace berth::reconcilers {

using Object = nlohmann::json;

// Our field manager of server-side apply (kubernetes.io, "Server-Side Apply").
inline constexpr std::string_view field_manager = "berth";

// Whether `live`, an object as the API server gave it or a Store keeps it, has to be applied again
// to be what `desired` says. That is so where its hash annotation is another one; where `desired`
// is no subset of it (quantities by their value, lists with keys by their keys); or where our field
// manager holds fields that `desired` doesn't have. What others added doesn't count. Pure.
bool differs(const Object& desired, const Object& live);

// The single rules, for tests and for messages. `is_subset` treats empty lists, empty objects and
// nulls of `desired` as absent: the API server drops them.
bool is_subset(const Object& desired, const Object& live);
bool holds_unwanted_fields(const Object& desired, const Object& live);

// A quantity such as 500m, 1Gi or 1e3 in its unit; nothing where it is none (kubernetes.io,
// "Quantity").
std::optional<double> parse_quantity(std::string_view text);

}  // namespace berth::reconcilers
