#include "api/resources/routes.h"

#include "api/resources/meta/handlers.h"

namespace berth::api {

std::vector<Route> meta_routes() {
  return {
      {.method = "GET",
       .path = "/health",
       .name = "health",
       .tag = "Meta",
       .summary = "Show whether berthd and the cluster work",
       .answer = {200, "HealthResponse"},
       .run = FreeHandler{health}},
      {.method = "GET",
       .path = "/.well-known/openapi.json",
       .name = "openapi",
       .tag = "Meta",
       .summary = "Return this document",
       .rate = per_minute(60),
       .answer = {.status = 200,
                  .schema = "OpenApiDocument",
                  .or_unchanged = "The document is still the one with the ETag in If-None-Match."},
       .run = FreeHandler{openapi_document}},
      {.method = "GET",
       .path = "/.well-known/oauth-protected-resource",
       .name = "protectedResource",
       .tag = "Meta",
       .summary = "Protected resource metadata (RFC 9728)",
       .rate = per_minute(60),
       .answer = {200, "ProtectedResourceMetadata"},
       .run = FreeHandler{protected_resource}},
      {.method = "GET",
       .path = "/.well-known/oauth-authorization-server",
       .name = "authorizationServer",
       .tag = "Meta",
       .summary = "Authorization server metadata (RFC 8414)",
       .rate = per_minute(60),
       .answer = {200, "AuthorizationServerMetadata"},
       .run = FreeHandler{authorization_server}},
  };
}

}  // namespace berth::api
