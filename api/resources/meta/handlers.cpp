// Information about berthd itself.
#include "api/resources/meta/handlers.h"

#include <map>
#include <mutex>

#include "api/gate/openapi.h"
#include "controller/base/version.h"

namespace berth::api {

namespace {

std::vector<std::string_view> scope_names() {
  std::vector<std::string_view> names;
  for (const ScopeInfo& scope : all_scopes()) names.push_back(scope.name);
  return names;
}

// Printed once for each base URL, of which a process has one, because that takes tens of
// milliseconds.
std::string openapi_text(Environment environment, const std::string& base_url) {
  static std::mutex mutex;
  static std::map<std::pair<Environment, std::string>, std::string> printed;
  const std::lock_guard lock(mutex);
  std::string& text = printed[{environment, base_url}];
  if (text.empty()) text = openapi(routes(), environment, base_url).dump();
  return text;
}

}  // namespace

Reply health(const Call&, const Services& services) {
  const std::string kubernetes = services.kubernetes_state();
  const bool well = kubernetes != "unreachable" && services.db.takes_writes();
  return {.body = {{"status", well ? "ok" : "degraded"},
                   {"version", version},
                   {"kubernetes", kubernetes}}};
}

Reply openapi_document(const Call&, const Services& services) {
  return {.text = openapi_text(services.environment, services.base_url)};
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
  const std::string& base = services.base_url;
  const json authentication = json::array({"client_secret_basic", "client_secret_post"});
  return {.body = {{"issuer", base},
                   {"authorization_endpoint", base + "/api/oauth/authorize"},
                   {"token_endpoint", base + "/api/oauth/token"},
                   {"introspection_endpoint", base + "/api/oauth/introspect"},
                   {"revocation_endpoint", base + "/api/oauth/revoke"},
                   {"scopes_supported", scope_names()},
                   {"response_types_supported", json::array({"code"})},
                   // Without this field, clients would assume that fragment is supported too (RFC
                   // 8414, section 2).
                   {"response_modes_supported", json::array({"query"})},
                   {"grant_types_supported",
                    json::array({"authorization_code", "refresh_token", "client_credentials"})},
                   {"code_challenge_methods_supported", json::array({"S256"})},
                   {"token_endpoint_auth_methods_supported", authentication},
                   {"introspection_endpoint_auth_methods_supported", authentication},
                   {"revocation_endpoint_auth_methods_supported", authentication},
                   {"authorization_response_iss_parameter_supported", true},
                   {"protected_resources", json::array({base})},
                   {"service_documentation", base + "/.well-known/openapi.json"}}};
}

}  // namespace berth::api
