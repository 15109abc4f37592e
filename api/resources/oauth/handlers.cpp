// The endpoints of the authorization server.
#include "api/resources/oauth/handlers.h"

#include "api/gate/encode.h"
#include "api/gate/errors.h"
#include "api/resources/oauth/client_auth.h"
#include "api/resources/oauth/redirect.h"
#include "controller/base/shares.h"
#include "controller/domain/lifecycle/ways_in.h"
#include "controller/domain/oauth/device.h"
#include "controller/domain/oauth/devices.h"
#include "controller/domain/oauth/oauth.h"

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

Reply encode(const oauth::Answer& answer, Instant now) {
  Reply reply = {.headers = {{"Pragma", "no-cache"}}};
  if (!answer) {
    reply.refusal = answer.error();
    return reply;
  }
  ClaimantOfThread::set_account(answer->user_id);
  reply.body = {{"access_token", answer->access_token},
                {"token_type", "Bearer"},
                {"expires_in", in_seconds(answer->access_token_expires_at - now)},
                {"scope", answer->scopes.text()},
                {"player_id", answer->user_id}};
  if (!answer->refresh_token.empty()) reply.body["refresh_token"] = answer->refresh_token;
  if (answer->session_token) {
    reply.body["session_token"] = *answer->session_token;
    reply.body["session_token_expires_at"] = to_iso8601(*answer->session_token_expires_at);
  }
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
                                                  services.oauth_policy);
  if (tokens) {
    note_login(tx, *tokens, call, services);
    return encode(*tokens, tx.now());
  }
  constexpr int bad_request = 400;  // RFC 6749, section 5.2
  return {.status = bad_request,
          .body = {{"error", tokens.error()}, {"error_description", in_words(tokens.error())}}};
}

}  // namespace

Reply authorize(db::Tx& tx, const Call& call, const Services& services) {
  const auto [request, state] = authorization_question(call.http.query);
  const auto code = oauth::authorize(tx, *call.user, request);
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

Reply token(db::Tx& tx, const Call& call, const Services& services) {
  const json& body = call.body;
  const oauth::Policy& policy = services.oauth_policy;
  const std::string grant_type = required(body, "grant_type");
  if (grant_type == "authorization_code") {
    const apps::App client = authenticated_client(tx, call);
    const auto answer =
        oauth::exchange_code(tx, client, required(body, "code"), required(body, "redirect_uri"),
                             required(body, "code_verifier"), policy);
    if (answer) note_login(tx, *answer, call, services);
    return encode(answer, tx.now());
  }
  if (grant_type == "refresh_token") {
    const apps::App client = authenticated_client(tx, call);
    const auto answer = oauth::refresh(tx, client, required(body, "refresh_token"), policy,
                                       optional_of(body, "scope"));
    if (answer) devices::refreshed(tx, *answer, origin_of(call));
    return encode(answer, tx.now());
  }
  if (grant_type == "client_credentials") {
    const apps::App client = authenticated_client(tx, call);
    return encode(oauth::client_credentials(tx, client, optional_of(body, "scope")), tx.now());
  }
  if (grant_type == device_grant) {
    const apps::App client = authenticated_client(tx, call);
    return poll_device(tx, client, call, services);
  }
  throw Error(Code::unsupported_grant_type,
              "grant_type must be authorization_code, refresh_token, client_credentials or " +
                  std::string(device_grant));
}

Reply refresh_tokens(db::Tx& tx, const Call& call, const Services& services) {
  const auto client = client_if_authenticated(tx, call);
  const auto answer =
      oauth::refresh(tx, client, call.body.at("refresh_token"), services.oauth_policy);
  if (answer) devices::refreshed(tx, *answer, origin_of(call));
  return encode(answer, tx.now());
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
  oauth::revoke(tx, client, required(call.body, "token"));
  return {};
}

}  // namespace berth::api
