#pragma once

#include "api/gate/encode.h"
#include "api/gate/services.h"
#include "controller/domain/apps/members.h"

// How apps and scopes are encoded and decoded; defined in apps/handlers.cpp.
namespace berth::api {

nlohmann::json encode(db::Tx& tx, const apps::App& app);
// Returns the user's membership of the app that the path names in `placeholder`, with at least the
// role of the call's row. The gate has asked for it before; this is asked in the transaction of the
// handler. Throws what apps::membership() and apps::require_role() throw.
apps::Membership membership_in_path(db::Tx& tx, const Call& call, std::string_view placeholder);
// Defined in scope_requests/handlers.cpp.
nlohmann::json request_or_null(const std::optional<apps::ScopeRequest>& request);
// What the owner of an app should know about it, one sentence each.
nlohmann::json warnings_about(const apps::App& app);
// Returns the app's settings of OpenID Connect after the change; fields that the body doesn't have
// stay as they are in `before`. Throws validation_failed for a backchannel_logout_uri that isn't
// https outside of development.
apps::OpenIdSettings changed_openid(const nlohmann::json& body, apps::OpenIdSettings before,
                                    const Services& services);
// Throws validation_failed if a scope is unknown or the list is empty.
ScopeSet decode_scopes(const nlohmann::json& body, const char* field);

}  // namespace berth::api
