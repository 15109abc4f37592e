// Handlers of public information about berthd: its health, its OpenAPI document, and the metadata
// of RFC 8414 and RFC 9728.
#include "api/resources/meta/document.h"
#include "api/resources/oauth/openid.h"
#include "api/resources/shared.h"
#include "controller/base/version.h"

namespace berth::api {
namespace {

std::vector<std::string_view> scope_names() {
  std::vector<std::string_view> names;
  for (const ScopeInfo& scope : all_scopes()) names.push_back(scope.name);
  return names;
}

Reply health(const Call&, const Services& services) {
  const KubernetesState kubernetes = services.cluster.state();
  const bool well = kubernetes != KubernetesState::unreachable && services.db.takes_writes();
  const Isolation isolation =
      services.cluster.isolation ? services.cluster.isolation() : Isolation();
  const auto& report = isolation.known->report;
  const bool measured =
      isolation.state == isolation::State::proven || isolation.state == isolation::State::open;
  const auto findings =
      services.cluster.findings ? services.cluster.findings() : std::vector<std::string>();
  return {.body = {{"status", well ? "ok" : "degraded"},
                   {"version", version},
                   {"kubernetes", kubernetes},
                   {"findings", findings},
                   {"isolation",
                    {{"state", isolation.state},
                     {"open_paths", measured && report ? json(isolation::open_paths(*report))
                                                       : json(nullptr)}}}}};
}

Reply openapi_document(const Call& call, const Services& services) {
  const Document& document = published_document(services);
  const bool gzip = accepts_gzip(call.http.headers.get("Accept-Encoding"));
  const Representation& chosen = gzip ? document.gzip : document.plain;
  Reply reply = {.headers = {{"ETag", chosen.etag}, {"Vary", "Accept-Encoding"}}};
  if (names_etag(call.http.headers.get("If-None-Match"), chosen.etag)) {
    reply.status = 304;
    reply.body = nullptr;
    return reply;
  }
  if (gzip) reply.headers.emplace_back("Content-Encoding", "gzip");
  reply.text = chosen.bytes;
  return reply;
}

Reply protected_resource(const Call&, const Services& services) {
  const std::string& base = services.base_url;
  return {.body = {{"resource", base},
                   {"resource_name", "berth"},
                   {"authorization_servers", json::array({base})},
                   {"scopes_supported", scope_names()},
                   {"bearer_methods_supported", json::array({"header"})},
                   {"resource_documentation", base + "/.well-known/openapi.json"}}};
}

Reply authorization_server(const Call&, const Services& services) {
  return {.body = server_metadata(services)};
}

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
     .served_by = {.neither = "OAuth clients read it on their own."},
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
