#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/gate/environment.h"
#include "api/gate/route.h"

namespace berth::api {

using nlohmann::json;

// The OpenAPI 3.1 document of the table of routes: each operation with its schemas, scopes, rate,
// errors and examples. This is a pure function.
json openapi(const std::vector<Route>& table, Environment environment, const std::string& base_url);

}  // namespace berth::api
