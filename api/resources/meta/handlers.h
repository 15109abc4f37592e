#pragma once

#include "api/gate/call.h"

// Handlers of public information about berthd: its health, its OpenAPI document, and the metadata
// of RFC 8414 and RFC 9728.
namespace berth::api {

Reply health(const Call& call, const Services& services);
Reply openapi_document(const Call& call, const Services& services);
Reply protected_resource(const Call& call, const Services& services);
Reply authorization_server(const Call& call, const Services& services);

}  // namespace berth::api
