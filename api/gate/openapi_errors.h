#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/gate/route.h"

// The part of openapi.json that says how operations refuse requests.
namespace berth::api {

using nlohmann::json;

// Returns the refusals of the route for the `responses` of its operation: a reference to a
// component by status, and by `default` for the refusals of the server itself. Adds the components
// that `components` lacks: a response for each form of error and set of codes, with an example. If
// two would have the same name, a number is added to the second one's.
json error_responses(const Route& route, json& components);

// Returns a reference to a component of the document, such as reference("schemas", "Deployment").
json reference(std::string_view kind, std::string_view name);

// Makes the name of a component of words with underscores: "app_not_found" becomes "AppNotFound".
std::string in_camel_case(std::string_view words);

}  // namespace berth::api
