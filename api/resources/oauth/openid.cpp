#include "api/resources/oauth/openid.h"

#include "controller/domain/kernel/messages.h"

namespace berth::api {

using nlohmann::json;

openid::Issuer issuer_of(const Services& services) {
  return {.url = services.base_url, .data_key = services.keys.data};
}

std::expected<oauth::AuthorizationCode, Error> code_for(
    db::Tx& tx, const AuthorizationQuestion& question, const accounts::User& user,
    const std::string& session_id, const Services& services,
    const std::optional<play::SessionAccess>& session_access) {
  if (openid::prompts(question.request, "none") && !question.id_token_hint.empty()) {
    // Whether the redirect URI may be told is decided first.
    oauth::asking_app(tx, question.request);
    const auto hint = openid::read_hint(tx, question.id_token_hint, issuer_of(services));
    if (!hint || hint->user_id != user.id)
      return std::unexpected(
          Error(Code::login_required, "the user of id_token_hint isn't logged in"));
  }
  return oauth::authorize(tx, user, question.request, session_access, session_id);
}

void fetch_client(AuthorizationQuestion& question, const Services& services) {
  const std::string& client_id = question.request.client_id;
  if (services.memory.client_documents && apps::is_client_url(client_id))
    question.request.document = services.memory.client_documents->find(client_id);
}

json server_metadata(const Services& services) {
  const std::string& base = services.base_url;
  const json authentication = json::array({"client_secret_basic", "client_secret_post"});
  // A public client says only who it is.
  const json or_none = json::array({"client_secret_basic", "client_secret_post", "none"});
  json scopes = json::array();
  for (const ScopeInfo& scope : all_scopes()) scopes.push_back(scope.name);
  json locales = json::array();
  for (const Language language : all_languages) locales.push_back(to_string(language));
  return {{"issuer", base},
          {"authorization_endpoint", base + "/api/oauth/authorize"},
          {"token_endpoint", base + "/api/oauth/token"},
          {"device_authorization_endpoint", base + "/api/oauth/device_authorization"},
          {"introspection_endpoint", base + "/api/oauth/introspect"},
          {"revocation_endpoint", base + "/api/oauth/revoke"},
          {"userinfo_endpoint", base + "/api/oauth/userinfo"},
          {"end_session_endpoint", base + end_session_path},
          {"jwks_uri", base + "/.well-known/jwks.json"},
          {"scopes_supported", std::move(scopes)},
          // What an authorization request without a scope asks for (RFC 6749, section 3.3 has it
          // published).
          {"default_scope", ScopeSet::automatic().text()},
          {"response_types_supported", json::array({"code"})},
          // Without this field, clients would assume that fragment is supported too (RFC 8414,
          // section 2).
          {"response_modes_supported", json::array({"query"})},
          {"grant_types_supported",
           json::array({"authorization_code", "refresh_token", "client_credentials",
                        "urn:ietf:params:oauth:grant-type:device_code",
                        "urn:ietf:params:oauth:grant-type:token-exchange"})},
          {"code_challenge_methods_supported", json::array({"S256"})},
          {"token_endpoint_auth_methods_supported", or_none},
          {"introspection_endpoint_auth_methods_supported", authentication},
          {"revocation_endpoint_auth_methods_supported", or_none},
          {"authorization_response_iss_parameter_supported", true},
          {"client_id_metadata_document_supported", services.memory.client_documents != nullptr},
          {"subject_types_supported", json::array({"public"})},
          {"id_token_signing_alg_values_supported", apps::texts_of(apps::IdTokenAlg())},
          {"claim_types_supported", json::array({"normal"})},
          {"claims_supported",
           json::array({"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "sid",
                        "preferred_username", "name", "updated_at", "email", "email_verified"})},
          {"prompt_values_supported", json::array({"none", "login", "consent", "select_account"})},
          {"claims_parameter_supported", false},
          {"request_parameter_supported", false},
          // The default would be true (OpenID Connect Discovery 1.0, section 3).
          {"request_uri_parameter_supported", false},
          {"backchannel_logout_supported", true},
          {"backchannel_logout_session_supported", true},
          {"ui_locales_supported", std::move(locales)},
          {"protected_resources", json::array({base})},
          {"service_documentation", base + "/.well-known/openapi.json"}};
}

}  // namespace berth::api
