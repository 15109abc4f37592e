#include "api/resources/oauth/handlers.h"
#include "api/resources/shared.h"
#include "controller/domain/oauth/device.h"

namespace berth::api {
namespace {

constexpr auto device_refusals = texts_of(oauth::DeviceRefusal());

constexpr Param authorize_params[] = {
    {.name = "client_id", .description = "The app's client_id."},
    {.name = "redirect_uri", .description = "Exactly one of the URIs that the app has registered."},
    {.name = "response_type", .description = "code.", .example = "code"},
    {.name = "scope",
     .description = "The scopes to ask for, separated by spaces or pluses.",
     .example = "profile:read"},
    {.name = "code_challenge", .description = "base64url(SHA-256(code_verifier)): 43 characters."},
    {.name = "code_challenge_method", .description = "S256.", .example = "S256"},
    {.name = "response_mode", .description = "Only `query` is supported.", .example = "query"},
    {.name = "state", .description = "Is returned unchanged.", .example = "xyz"}};

// Each leaves a row for ten minutes.
constexpr Rate device_authorizations = per_minute(10);

// For one address, which may be a busy resource server; the client is authenticated.
constexpr Rate introspections = per_minute(1200);

constexpr Route rows[] = {
    {.request = "GET /api/oauth/authorize",
     .name = "authorize",
     .tag = "OAuth",
     .summary = "Get an authorization code (RFC 6749, section 4.1, with PKCE)",
     .text = "Gives the app a code for the caller, who consents by this call; it works once, "
             "within ten minutes, at the token endpoint. With Accept: text/html, a browser gets "
             "the pages for login and consent instead.",
     .guards = {session_jwt(), account_reads, Shape::oauth},
     .stores = Stores::sign_in,
     .query = authorize_params,
     .answer = {.schema = "AuthorizationCodeResponse",
                .or_elsewhere = "A browser is sent to the login, or back to the app."},
     .errors = {Code::invalid_request, Code::invalid_scope, Code::unsupported_response_type,
                Code::unauthorized_client},
     .event = {SecurityKind::consent_changed, "allowed"},
     .served_by = {"berth login", "/api/oauth/authorize"},
     .run = WriteHandler{authorize}},
    {.request = "POST /api/oauth/device_authorization",
     .name = "authorizeDevice",
     .tag = "OAuth",
     .summary = "Get codes for a device without a browser (RFC 8628); for berth's own client",
     .text = "Begins a login on a device without a browser: the person enters the short code at "
             "/device, and the device asks the token endpoint until they have decided. The codes "
             "end after ten minutes. Only berth's own client may ask.",
     .guards = {open_to_all(), device_authorizations, Shape::oauth},
     .stores = Stores::sign_in,
     .body = {"DeviceAuthorizationRequest", Body::Form::json_or_form},
     .answer = {200, "DeviceAuthorizationResponse"},
     .errors = {Code::invalid_client, Code::unauthorized_client, Code::invalid_scope},
     .event = {SecurityKind::device_requested, "asked"},
     .served_by = {"berth login", "/device"},
     .run = WriteHandler{authorize_device}},
    {.request = "POST /api/oauth/token",
     .name = "token",
     .tag = "OAuth",
     .summary = "Get tokens for a code, a refresh token, a device code or the client's own "
                "credentials",
     .text = "Exchanges a code, a refresh token or the app's credentials for tokens. The client "
             "authenticates by HTTP Basic or in the body. A refresh token works once; using it "
             "again revokes all that came from it.",
     .guards = {with_pages_of_apps(open_to_all()), token_calls, Shape::oauth},
     .stores = Stores::sign_in,
     .body = {"OAuthTokenRequest", Body::Form::json_or_form},
     .answer = {200, "OAuthTokenResponse"},
     .errors = {Code::invalid_grant, Code::invalid_scope, Code::unauthorized_client,
                Code::unsupported_grant_type, Code::invalid_client, Code::consumed_refresh_token},
     .other_codes = device_refusals,
     .event = {SecurityKind::token_issued, "granted"},
     .served_by = {"berth login"},
     .run = WriteHandler{token}},
    {.request = "POST /api/auth/refresh",
     .name = "refresh",
     .tag = "Account",
     .summary = "Exchange a refresh token for new tokens; client authentication is required only "
                "for apps with refresh_requires_client",
     .text = "Exchanges a refresh token for new tokens; it works once. Apps with "
             "refresh_requires_client must authenticate.",
     .guards = {open_to_all(), token_calls, Shape::oauth_and_message},
     .stores = Stores::sign_in,
     .body = {"RefreshRequest"},
     .answer = {200, "OAuthTokenResponse"},
     .errors = {Code::consumed_refresh_token, Code::invalid_client},
     .event = {SecurityKind::token_issued, "refreshed"},
     .served_by = {"berth token"},
     .run = WriteHandler{refresh_tokens}},
    {.request = "POST /api/oauth/token/verify",
     .name = "verifyToken",
     .tag = "OAuth",
     .summary = "Show what an access token may be used for at present",
     .text = "Says whether an access token works now, for which app, user and scopes, or why it "
             "doesn't. Whoever has the token may ask.",
     .guards = {open_to_all(), token_calls, Shape::oauth},
     .stores = Stores::nothing,
     .body = {"TokenRequest", Body::Form::json_or_form},
     .answer = {200, "TokenIntrospection"},
     .read_committed = true,
     .served_by = {"berth whoami"},
     .run = ReadHandler{verify_token}},
    {.request = "POST /api/oauth/introspect",
     .name = "introspect",
     .tag = "OAuth",
     .summary = "Introspect one of the client's own tokens (RFC 7662), with client authentication",
     .text = "Says whether one of the client's tokens works now, and for what. Tokens of other "
             "clients are inactive. The client authenticates by HTTP Basic or in the body.",
     .guards = {open_to_all(), introspections, Shape::oauth},
     .stores = Stores::nothing,
     .body = {"ClientTokenRequest", Body::Form::json_or_form},
     .answer = {200, "ClientTokenIntrospection"},
     .errors = {Code::invalid_client},
     .read_committed = true,
     .served_by = {.neither = called_by_apps},
     .run = ReadHandler{introspect_token}},
    {.request = "POST /api/oauth/revoke",
     .name = "revoke",
     .tag = "OAuth",
     .summary = "Revoke one of the client's own tokens (RFC 7009), with client authentication",
     .text = "Ends a token; a refresh token ends with everything that came from it. Unknown tokens "
             "are no error. The client authenticates by HTTP Basic or in the body.",
     .guards = {with_pages_of_apps(open_to_all()), token_calls, Shape::oauth},
     .stores = Stores::nothing,
     .body = {"ClientTokenRequest", Body::Form::json_or_form},
     .answer = {200, "Empty"},
     .errors = {Code::invalid_client, Code::invalid_grant},
     .event = {SecurityKind::token_revoked, "by_client"},
     .served_by = {"berth logout"},
     .run = WriteHandler{revoke_token}},
};

}  // namespace

std::span<const Route> oauth_routes() { return rows; }

}  // namespace berth::api
