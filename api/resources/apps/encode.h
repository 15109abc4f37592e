#pragma once

#include "api/gate/encode.h"
#include "controller/domain/apps/apps.h"

// How apps and scopes are written and read in JSON; apps.cpp.
namespace berth::api {

nlohmann::json encode(const apps::App& app);
// Throws validation_failed where one is unknown, or there is none.
ScopeSet decode_scopes(const nlohmann::json& body, const char* field);

}  // namespace berth::api
