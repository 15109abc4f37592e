#include "api/resources/routes.h"

#include "api/resources/oauth/handlers.h"
#include "controller/domain/oauth/device.h"

namespace berth::api {
namespace {

std::vector<std::string_view> device_refusals() {
  std::vector<std::string_view> names;
  for (const std::string_view text : texts_of(oauth::DeviceRefusal())) names.push_back(text);
  return names;
}

const std::vector<Param> authorize_params = {
    {.name = "client_id", .type = "string", .description = "The app's client_id."},
    {.name = "redirect_uri",
     .type = "string",
     .description = "Exactly one of the URIs that the app has registered."},
    {.name = "response_type", .type = "string", .description = "code.", .example = "code"},
    {.name = "scope",
     .type = "string",
     .description = "The scopes to ask for, separated by spaces or pluses.",
     .example = "profile:read"},
    {.name = "code_challenge",
     .type = "string",
     .description = "base64url(SHA-256(code_verifier)): 43 characters."},
    {.name = "code_challenge_method", .type = "string", .description = "S256.", .example = "S256"},
    {.name = "response_mode",
     .type = "string",
     .description = "Only `query` is supported.",
     .example = "query"},
    {.name = "state", .type = "string", .description = "Is returned unchanged.", .example = "xyz"}};

// Each leaves a row for ten minutes.
const Rate device_authorizations = per_minute(10);

// For one address, which may be a busy resource server; the client is authenticated.
const Rate introspections = per_minute(1200);

}  // namespace

std::vector<Route> oauth_routes() {
  return {
      {.method = "GET",
       .path = "/api/oauth/authorize",
       .name = "authorize",
       .tag = "OAuth",
       .summary = "Get an authorization code (RFC 6749, section 4.1, with PKCE)",
       .access = session_jwt(),
       .rate = account_reads,
       .stores = Stores::sign_in,
       .shape = Shape::oauth,
       .query = authorize_params,
       .answer = {.schema = "AuthorizationCodeResponse",
                  .or_elsewhere = "A browser is sent to the login, or back to the app."},
       .errors = {Code::invalid_request, Code::invalid_scope, Code::unsupported_response_type,
                  Code::unauthorized_client},
       .run = WriteHandler{authorize}},
      {.method = "POST",
       .path = "/api/oauth/device_authorization",
       .name = "authorizeDevice",
       .tag = "OAuth",
       .summary = "Get codes for a device without a browser (RFC 8628); for berth's own client",
       .rate = device_authorizations,
       .stores = Stores::sign_in,
       .shape = Shape::oauth,
       .body_kind = Body::json_or_form,
       .body = "DeviceAuthorizationRequest",
       .answer = {200, "DeviceAuthorizationResponse"},
       .errors = {Code::invalid_client, Code::unauthorized_client, Code::invalid_scope},
       .run = WriteHandler{authorize_device}},
      {.method = "POST",
       .path = "/api/oauth/token",
       .name = "token",
       .tag = "OAuth",
       .summary = "Get tokens for a code, a refresh token, a device code or the client's own "
                  "credentials",
       .rate = token_calls,
       .stores = Stores::sign_in,
       .shape = Shape::oauth,
       .body_kind = Body::json_or_form,
       .body = "OAuthTokenRequest",
       .answer = {200, "OAuthTokenResponse"},
       .errors = {Code::invalid_grant, Code::invalid_scope, Code::unauthorized_client,
                  Code::unsupported_grant_type, Code::invalid_client, Code::consumed_refresh_token},
       .other_codes = device_refusals(),
       .run = WriteHandler{token}},
      {.method = "POST",
       .path = "/api/auth/refresh",
       .name = "refresh",
       .tag = "Account",
       .summary = "Exchange a refresh token for new tokens; client authentication is required only "
                  "for apps with refresh_requires_client",
       .rate = token_calls,
       .stores = Stores::sign_in,
       .shape = Shape::oauth_and_message,
       .body_kind = Body::only_json,
       .body = "RefreshRequest",
       .answer = {200, "OAuthTokenResponse"},
       .errors = {Code::consumed_refresh_token, Code::invalid_client},
       .run = WriteHandler{refresh_tokens}},
      {.method = "POST",
       .path = "/api/oauth/token/verify",
       .name = "verifyToken",
       .tag = "OAuth",
       .summary = "Show what an access token may be used for at present",
       .rate = token_calls,
       .stores = Stores::nothing,
       .shape = Shape::oauth,
       .body_kind = Body::json_or_form,
       .body = "TokenRequest",
       .answer = {200, "TokenIntrospection"},
       .read_committed = true,
       .run = ReadHandler{verify_token}},
      {.method = "POST",
       .path = "/api/oauth/introspect",
       .name = "introspect",
       .tag = "OAuth",
       .summary =
           "Introspect one of the client's own tokens (RFC 7662), with client authentication",
       .rate = introspections,
       .stores = Stores::nothing,
       .shape = Shape::oauth,
       .body_kind = Body::json_or_form,
       .body = "ClientTokenRequest",
       .answer = {200, "ClientTokenIntrospection"},
       .errors = {Code::invalid_client},
       .read_committed = true,
       .run = ReadHandler{introspect_token}},
      {.method = "POST",
       .path = "/api/oauth/revoke",
       .name = "revoke",
       .tag = "OAuth",
       .summary = "Revoke one of the client's own tokens (RFC 7009), with client authentication",
       .rate = token_calls,
       .stores = Stores::nothing,
       .shape = Shape::oauth,
       .body_kind = Body::json_or_form,
       .body = "ClientTokenRequest",
       .answer = {200, "Empty"},
       .errors = {Code::invalid_client, Code::invalid_grant},
       .run = WriteHandler{revoke_token}},
  };
}

}  // namespace berth::api
