// The authorization server: authorization, tokens, introspection and revocation.
#include "controller/domain/oauth/oauth.h"

#include "api/gate/encode.h"
#include "api/gate/errors.h"
#include "api/resources/oauth/client_auth.h"
#include "api/resources/oauth/openid.h"
#include "api/resources/oauth/redirect.h"
#include "api/resources/shared.h"
#include "controller/base/shares.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/lifecycle/ways_in.h"
#include "controller/domain/oauth/device.h"
#include "controller/domain/oauth/devices.h"
#include "controller/domain/oauth/issuer_keys.h"
#include "controller/domain/oauth/trusts.h"

namespace berth::api {
namespace {

std::int64_t in_seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

// A parameter with an empty value counts as missing (RFC 6749, section 3.2).
std::optional<std::string> optional_of(const json& body, const char* field) {
  auto value = text_or_nothing(body, field);
  return value && value->empty() ? std::nullopt : value;
}
std::string required(const json& body, const char* field) {
  const auto value = optional_of(body, field);
  if (!value) throw Error(Code::invalid_request, std::string(field) + " is required");
  return *value;
}

Reply encode(db::Tx& tx, const oauth::Answer& answer, const Services& services) {
  Reply reply = {.headers = {{"Pragma", "no-cache"}}};
  if (!answer) {
    reply.refusal = answer.error();
    return reply;
  }
  ClaimantOfThread::set_account(answer->user_id);
  reply.body = {{"access_token", answer->access_token},
                {"token_type", "Bearer"},
                {"expires_in", in_seconds(answer->access_token_expires_at - tx.now())},
                {"scope", answer->scopes.text()},
                {"player_id", answer->user_id}};
  if (!answer->refresh_token.empty()) reply.body["refresh_token"] = answer->refresh_token;
  if (answer->session_token) {
    reply.body["session_token"] = *answer->session_token;
    reply.body["session_token_expires_at"] = to_iso8601(*answer->session_token_expires_at);
  }
  if (answer->login) reply.body["id_token"] = openid::id_token(tx, *answer, issuer_of(services));
  return reply;
}

devices::Origin origin_of(const Call& call) {
  return {.name = text_or_nothing(call.body, "device_name").value_or(""),
          .program = std::string(call.http.headers.get("User-Agent")),
          .address = call.address};
}

// Records the device of a login by berth's own client.
void note_login(db::Tx& tx, const oauth::Tokens& tokens, const Call& call,
                const Services& services) {
  if (tokens.first_party)
    accounts::connect_device(tx, tokens, origin_of(call), services.keys, services.base_url);
}

constexpr std::string_view device_grant = "urn:ietf:params:oauth:grant-type:device_code";

std::string_view in_words(oauth::DeviceRefusal refusal) {
  switch (refusal) {
    case oauth::DeviceRefusal::authorization_pending:
      return "the code hasn't been confirmed in a browser yet";
    case oauth::DeviceRefusal::slow_down:
      return "the device asks too often; wait five seconds longer each time";
    case oauth::DeviceRefusal::access_denied:
      return "access was denied in the browser";
    case oauth::DeviceRefusal::expired_token:
      break;
  }
  return "the code has expired; start again";
}

Reply poll_device(db::Tx& tx, const apps::App& client, const Call& call, const Services& services) {
  const auto tokens = oauth::exchange_device_code(tx, client, required(call.body, "device_code"),
                                                  services.rules.oauth);
  if (tokens) {
    note_login(tx, *tokens, call, services);
    return encode(tx, *tokens, services);
  }
  constexpr int bad_request = 400;  // RFC 6749, section 5.2
  return {.status = bad_request,
          .body = {{"error", tokens.error()}, {"error_description", in_words(tokens.error())}}};
}

Reply answer_to(db::Tx& tx, const AuthorizationQuestion& question, const Call& call,
                const Services& services) {
  const auto& request = question.request;
  const auto& state = question.state;
  const auto code = code_for(tx, question, *call.user, call.session_id, services);
  // The parameters for the redirect URI; the client builds the URI itself or uses `redirect_to`.
  RedirectParameters answer;
  if (code) {
    answer.emplace_back("code", code->code);
  } else {
    answer.emplace_back("error", name(code.error().code));
    answer.emplace_back("error_description", description_of(code.error()));
  }
  if (state) answer.emplace_back("state", *state);
  answer.emplace_back("iss", services.base_url);
  Reply reply = {.body = {{"redirect_uri", request.redirect_uri},
                          {"redirect_to", redirect_to(request.redirect_uri, answer)}}};
  for (const auto& [name, value] : answer) reply.body[name] = value;
  if (code)
    reply.body["expires_in"] = in_seconds(oauth::code_lifetime);
  else
    reply.refusal = code.error();
  return reply;
}

Reply authorize(const Call& call, const Services& services) {
  AuthorizationQuestion question = authorization_question(call.http.query);
  fetch_client(question, services);
  return services.db.write([&](db::Tx& tx) {
    Reply reply = answer_to(tx, question, call, services);
    if (!reply.refusal)
      audit::record_operation(tx, "app", oauth::asking_app(tx, question.request).id);
    return reply;
  });
}

Reply authorize_device(db::Tx& tx, const Call& call, const Services& services) {
  const apps::App client = authenticated_client(tx, call);
  const auto started =
      oauth::authorize_device(tx, client,
                              {.scope = optional_of(call.body, "scope"),
                               .address = call.address,
                               .user_agent = std::string(call.http.headers.get("User-Agent"))},
                              services.keys.data);
  // There is no verification_uri_complete: whoever types the code has seen it on the device.
  return {.body = {{"device_code", started.device_code},
                   {"user_code", started.user_code},
                   {"verification_uri", services.base_url + "/device"},
                   {"expires_in", in_seconds(oauth::device_code_lifetime)},
                   {"interval", in_seconds(oauth::device_poll_interval)}},
          .headers = {{"Pragma", "no-cache"}}};
}

constexpr std::string_view exchange_grant = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr std::string_view access_token_type = "urn:ietf:params:oauth:token-type:access_token";
constexpr std::string_view id_token_type = "urn:ietf:params:oauth:token-type:id_token";
constexpr std::string_view jwt_type = "urn:ietf:params:oauth:token-type:jwt";

// Returns the client_id of the app for which a token is exchanged (RFC 8693, section 2.1). Clients
// needn't authenticate, since the ID token does; if one does, it has to be for its own app.
std::string target_of(db::Tx& tx, const Call& call) {
  auto target = optional_of(call.body, "audience");
  if (!target) target = optional_of(call.body, "resource");
  const auto client = client_if_authenticated(tx, call);
  if (client && target && *target != client->client_id)
    throw Error(Code::invalid_target, "audience must be the client_id of the client that asks");
  if (!target && client) target = client->client_id;
  return target ? *target : required(call.body, "client_id");
}

// A trust of the deployment's app accepts what the cluster has proven. The container needn't name
// its app; if it does, it has to be the right one.
Reply exchange_container_token(const Call& call, const Services& services, const std::string& token,
                               const deployments::Identity& identity) {
  const oauth::Container container = {.app_id = identity.app_id,
                                      .deployment_id = identity.deployment_id};
  const auto check = [&](db::Tx& tx) {
    const auto row = deployments::find(tx, identity.deployment_id);
    const bool has_identity = row && row->app_id == identity.app_id && row->container.identity &&
                              row->status != deployments::Status::stopped &&
                              row->status != deployments::Status::destroyed;
    if (!has_identity)
      throw with_event(
          Error(Code::invalid_request, "the deployment has no identity, or is stopped"),
          {.kind = SecurityKind::token_rejected,
           .reason = "no_identity",
           .token_kind = "container_token"});
    const auto app = apps::find(tx, identity.app_id);
    for (const char* field : {"audience", "resource", "client_id"})
      if (const auto named = optional_of(call.body, field); named && app->client_id != *named)
        throw Error(Code::invalid_target,
                    std::string(field) + " must be the client_id of the container's app");
  };
  const auto app = services.db.read([&](db::Tx& tx) {
    check(tx);
    oauth::require_container_trust(tx, container);
    return apps::find(tx, identity.app_id);
  });
  if (!services.cluster.proves_identity(token))
    throw with_event(
        Error(Code::invalid_request,
              "the cluster doesn't accept the subject_token, or its container is gone"),
        {.kind = SecurityKind::token_rejected,
         .reason = "not_proven",
         .token_kind = "container_token"});
  if (app && call.count_for_app) call.count_for_app(app->id, app->owner_id);
  return services.db.write([&](db::Tx& tx) {
    check(tx);
    Reply reply =
        encode(tx, oauth::exchange_container_token(tx, container, optional_of(call.body, "scope")),
               services);
    reply.body["issued_token_type"] = access_token_type;
    return reply;
  });
}

// No transaction is open while the keys of the issuer are fetched.
Reply exchange_token(const Call& call, const Services& services) {
  const json& body = call.body;
  const std::string subject_token = required(body, "subject_token");
  const std::string type = required(body, "subject_token_type");
  if (type != id_token_type && type != jwt_type)
    throw Error(Code::invalid_request, "subject_token_type must be " + std::string(id_token_type) +
                                           " or " + std::string(jwt_type));
  if (optional_of(body, "requested_token_type").value_or(std::string(access_token_type)) !=
      access_token_type)
    throw Error(Code::invalid_request,
                "requested_token_type must be " + std::string(access_token_type));
  if (body.contains("actor_token"))
    throw Error(Code::invalid_request, "an actor_token isn't supported");
  const auto& identity_in = services.cluster.identity_in;
  if (const auto identity = identity_in ? identity_in(subject_token) : std::nullopt)
    return exchange_container_token(call, services, subject_token, *identity);
  const oauth::ShownToken shown = services.db.read(
      [&](db::Tx& tx) { return oauth::read_id_token(tx, target_of(tx, call), subject_token); });
  const auto key = services.memory.issuer_keys->find(shown.issuer, shown.token.key_id);
  const oauth::VerifiedToken verified = oauth::verify_id_token(shown, key, services.clock.now());
  const apps::App app =
      services.db.read([&](db::Tx& tx) { return oauth::require_trust(tx, verified); });
  if (call.count_for_app) call.count_for_app(app.id, app.owner_id);
  return services.db.write([&](db::Tx& tx) {
    Reply reply =
        encode(tx, oauth::exchange_id_token(tx, verified, optional_of(body, "scope")), services);
    reply.body["issued_token_type"] = access_token_type;
    return reply;
  });
}

Reply token_by_grant(db::Tx& tx, const Call& call, const Services& services) {
  const json& body = call.body;
  const oauth::Policy& policy = services.rules.oauth;
  const std::string grant_type = required(body, "grant_type");
  if (grant_type == "authorization_code") {
    const apps::App client = authenticated_client(tx, call);
    const auto answer =
        oauth::exchange_code(tx, client, required(body, "code"), required(body, "redirect_uri"),
                             required(body, "code_verifier"), policy);
    if (answer) note_login(tx, *answer, call, services);
    return encode(tx, answer, services);
  }
  if (grant_type == "refresh_token") {
    const apps::App client = authenticated_client(tx, call);
    const auto answer = oauth::refresh(tx, client, required(body, "refresh_token"), policy,
                                       optional_of(body, "scope"));
    if (answer) devices::refreshed(tx, *answer, origin_of(call));
    return encode(tx, answer, services);
  }
  if (grant_type == "client_credentials") {
    const apps::App client = authenticated_client(tx, call);
    return encode(tx, oauth::client_credentials(tx, client, optional_of(body, "scope")), services);
  }
  if (grant_type == device_grant) {
    const apps::App client = authenticated_client(tx, call);
    return poll_device(tx, client, call, services);
  }
  throw Error(Code::unsupported_grant_type,
              "grant_type must be authorization_code, refresh_token, client_credentials, " +
                  std::string(device_grant) + " or " + std::string(exchange_grant));
}

Reply token(const Call& call, const Services& services) {
  if (required(call.body, "grant_type") == exchange_grant) return exchange_token(call, services);
  return services.db.write([&](db::Tx& tx) { return token_by_grant(tx, call, services); });
}

Reply refresh_tokens(db::Tx& tx, const Call& call, const Services& services) {
  const auto client = client_if_authenticated(tx, call);
  const auto answer =
      oauth::refresh(tx, client, call.body.at("refresh_token"), services.rules.oauth);
  if (answer) devices::refreshed(tx, *answer, origin_of(call));
  return encode(tx, answer, services);
}

Reply verify_token(db::Tx& tx, const Call& call, const Services&) {
  const oauth::Introspection seen =
      oauth::introspect(tx, call.body.at("token").get_ref<const std::string&>());
  if (!seen.active) return {.body = {{"active", false}, {"reason", seen.reason}}};
  return {.body = {{"active", true},
                   {"app_id", seen.active->app_id},
                   {"user_id", seen.active->user_id},
                   {"scopes", seen.active->scopes.names()},
                   {"expires_at", to_iso8601(seen.active->expires_at)}}};
}

Reply introspect_token(db::Tx& tx, const Call& call, const Services& services) {
  oauth::TokenLookup lookup(tx, text_or_nothing(call.body, "token").value_or(""));
  const apps::App client = confidential_client(tx, call);
  required(call.body, "token");
  const auto facts = lookup.facts_for(client);
  // Says nothing else: the client must not learn about tokens that aren't its own (RFC 7662,
  // section 4).
  if (!facts) return {.body = {{"active", false}}};
  Reply reply = {.body = {{"active", true},
                          {"client_id", client.client_id},
                          {"sub", facts->user_id},
                          {"iss", services.base_url},
                          {"aud", services.base_url},
                          {"exp", in_seconds(facts->expires_at.time_since_epoch())},
                          {"token_use", facts->kind}}};
  if (!facts->scopes.empty()) reply.body["scope"] = facts->scopes.text();
  if (facts->kind == oauth::TokenKind::access) reply.body["token_type"] = "Bearer";
  return reply;
}

Reply revoke_token(db::Tx& tx, const Call& call, const Services&) {
  const apps::App client = authenticated_client(tx, call);
  if (Requester* const requester = tx.requester()) {
    requester->actor = "app:" + client.id;
    requester->app_id = client.id;
  }
  oauth::revoke(tx, client, required(call.body, "token"));
  return {};
}

constexpr auto device_refusals = texts_of(oauth::DeviceRefusal());

constexpr Param authorize_params[] = {
    {.name = "client_id",
     .description =
         "The app's client_id, or the https:// URL of a document that describes a client "
         "which isn't registered (draft-ietf-oauth-client-id-metadata-document)."},
    {.name = "redirect_uri", .description = "Exactly one of the URIs that the app has registered."},
    {.name = "response_type", .description = "code.", .example = "code"},
    {.name = "scope",
     .description = "The scopes to ask for, separated by spaces or pluses.",
     .example = "profile:read"},
    {.name = "code_challenge", .description = "base64url(SHA-256(code_verifier)): 43 characters."},
    {.name = "code_challenge_method", .description = "S256.", .example = "S256"},
    {.name = "response_mode", .description = "Only `query` is supported.", .example = "query"},
    {.name = "state", .description = "Is returned unchanged.", .example = "xyz"},
    {.name = "nonce",
     .description =
         "For the scope openid: is returned unchanged in the ID token; at most 255 bytes.",
     .example = "n-0S6_WzA2Mj"},
    {.name = "prompt",
     .description = "`none`: show the user no page, and refuse if one is needed; `login`, or "
                    "`select_account`: have them log in again; `consent`: ask them, as is always "
                    "done without `none`.",
     .example = "login"},
    {.name = "max_age",
     .description = "How many seconds ago the user may have logged in; otherwise they have to log "
                    "in again.",
     .example = "3600"},
    {.name = "login_hint", .description = "The address to fill into the page for the login."},
    {.name = "id_token_hint",
     .description = "With prompt=none: an ID token of the user who is meant; anybody else gets "
                    "login_required."}};

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
             "the pages for login and consent instead. A client that isn't registered gets openid, "
             "profile and email at most.",
     .guards = {session_jwt(), account_reads, Shape::oauth},
     .stores = Stores::sign_in,
     .query = authorize_params,
     .answer = {.schema = "AuthorizationCodeResponse",
                .or_elsewhere = "A browser is sent to the login, or back to the app."},
     .errors = {Code::invalid_request, Code::invalid_scope, Code::unsupported_response_type,
                Code::unauthorized_client, Code::login_required, Code::consent_required,
                Code::interaction_required, Code::request_not_supported,
                Code::request_uri_not_supported},
     .event = {SecurityKind::consent_changed, "allowed"},
     .served_by = {"berth login", "/api/oauth/authorize"},
     .run = FreeHandler{authorize}},
    {.request = "POST /api/oauth/device_authorization",
     .name = "authorizeDevice",
     .tag = "OAuth",
     .summary = "Get codes for a device without a browser (RFC 8628); for berth's own client",
     .text = "Begins a login on a device without a browser: the person enters the short code at "
             "/device, and the device asks the token endpoint until they have decided. The codes "
             "expire after ten minutes. Only berth's own client may ask.",
     .guards = {open_to_all(), device_authorizations, Shape::oauth},
     .stores = Stores::sign_in,
     .body = {"DeviceAuthorizationRequest", Body::Form::json_or_form},
     .answer = {200, "DeviceAuthorizationResponse"},
     .errors = {Code::invalid_client, Code::unauthorized_client, Code::invalid_scope},
     .event = {SecurityKind::device_requested, "asked"},
     .unaudited = "Only asks; what the person decides on the page has an entry.",
     .served_by = {"berth login", "/device"},
     .run = WriteHandler{authorize_device}},
    {.request = "POST /api/oauth/token",
     .name = "token",
     .tag = "OAuth",
     .summary = "Get tokens for a code, a refresh token, a device code, the client's own "
                "credentials, or a CI job's ID token",
     .text = "Exchanges a code, a refresh token or the app's credentials for tokens. The client "
             "authenticates by HTTP Basic or in the body. A refresh token works once; using it "
             "again revokes all that came from it. The ID token of a CI service that the app "
             "trusts gives an access token of 15 minutes without a secret (RFC 8693); it works "
             "once, too.",
     .guards = {with_pages_of_apps(open_to_all()), token_calls, Shape::oauth},
     .stores = Stores::sign_in,
     .body = {"OAuthTokenRequest", Body::Form::json_or_form},
     .answer = {200, "OAuthTokenResponse"},
     .errors = {Code::invalid_grant, Code::invalid_scope, Code::unauthorized_client,
                Code::unsupported_grant_type, Code::invalid_client, Code::consumed_refresh_token,
                Code::invalid_target},
     .other_codes = device_refusals,
     .proving_grant = exchange_grant,
     .event = {SecurityKind::token_issued, "granted"},
     .unaudited =
         "Gives what a consent, a login on a device or a trust allows, which have entries.",
     .served_by = {"berth login"},
     .run = FreeHandler{token}},
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
     .unaudited = "Goes on with a login, which has its entry.",
     .served_by = {"berth token"},
     .run = WriteHandler{refresh_tokens}},
    {.request = "POST /api/oauth/token/verify",
     .name = "verifyToken",
     .tag = "OAuth",
     .summary = "Show what an access token may currently be used for",
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
             "aren't an error. The client authenticates by HTTP Basic or in the body.",
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
