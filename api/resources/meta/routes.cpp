#include "api/resources/meta/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Route rows[] = {
    {.request = "GET /health",
     .name = "health",
     .tag = "Meta",
     .summary = "Show whether berthd and the cluster work",
     .text = "Says whether berthd can store changes and reach the cluster. The status is 200 as "
             "long as it answers at all.",
     .answer = {200, "HealthResponse"},
     .served_by = {"berth doctor"},
     .run = FreeHandler{health}},
    {.request = "GET /.well-known/openapi.json",
     .name = "openapi",
     .tag = "Meta",
     .summary = "Return this document",
     .text = "Returns the description of all operations. Send the ETag as If-None-Match to get 304 "
             "while nothing has changed; with Accept-Encoding: gzip it is a tenth as long.",
     .guards = {with_any_page(open_to_all()), per_minute(60)},
     .answer = {.status = 200,
                .schema = "OpenApiDocument",
                .or_unchanged = "The document is still the one with the ETag in If-None-Match."},
     .served_by = {"berth api"},
     .run = FreeHandler{openapi_document}},
    {.request = "GET /.well-known/oauth-protected-resource",
     .name = "protectedResource",
     .tag = "Meta",
     .summary = "Protected resource metadata (RFC 9728)",
     .text = "Tells OAuth clients which authorization server issues tokens for this API.",
     .guards = {with_any_page(open_to_all()), per_minute(60)},
     .answer = {200, "ProtectedResourceMetadata"},
     .served_by = {.neither = "OAuth clients read it by themselves."},
     .run = FreeHandler{protected_resource}},
    {.request = "GET /.well-known/oauth-authorization-server",
     .name = "authorizationServer",
     .tag = "Meta",
     .summary = "Authorization server metadata (RFC 8414)",
     .text = "Tells OAuth clients the endpoints and what they support.",
     .guards = {with_any_page(open_to_all()), per_minute(60)},
     .answer = {200, "AuthorizationServerMetadata"},
     .served_by = {"berth login"},
     .run = FreeHandler{authorization_server}},
};

}  // namespace

std::span<const Route> meta_routes() { return rows; }

}  // namespace berth::api
