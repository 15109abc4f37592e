#pragma once

#include <string>
#include <string_view>

#include "api/gate/route.h"

// The part of openapi.json that says how operations refuse requests.
namespace berth::api {

// Returns the refusals of the route as the `responses` of its operation: by status, references to
// components; `default` stands for those of the server itself. Adds to `components` those that it
// doesn't have yet: a response for each form and set of codes, with an example. Where two would
// have the same name, the second one gets a number.
json error_responses(const Route& route, json& components);

// Returns a reference to a component of the document, such as reference("schemas", "Deployment").
nlohmann::json reference(std::string_view kind, std::string_view name);

// Makes the name of a component of words with underscores: "app_not_found" becomes "AppNotFound".
std::string in_camel_case(std::string_view words);

}  // namespace berth::api
