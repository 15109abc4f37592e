#pragma once

#include <optional>

#include "api/gate/call.h"
#include "controller/domain/apps/apps.h"

namespace berth::api {

// The client of a request that authenticates by client_id and client_secret in the body, or by HTTP
// Basic (RFC 6749, section 2.3.1). A public client sends only its client_id. Throws invalid_client;
// throws invalid_request if both are used.
apps::App authenticated_client(db::Tx& tx, const Call& call);
// The same, but throws invalid_client for a public client, too.
apps::App confidential_client(db::Tx& tx, const Call& call);
// The same for routes where clients may omit their authentication: returns nothing if the request
// has neither a client_secret nor HTTP Basic.
std::optional<apps::App> client_if_authenticated(db::Tx& tx, const Call& call);

}  // namespace berth::api
