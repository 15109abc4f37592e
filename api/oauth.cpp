// The authorization server's endpoints.
#include "controller/domain/oauth.h"

#include "api/encode.h"
#include "api/handlers.h"
#include "controller/base/crypto.h"

namespace berth::api {
namespace {

struct ClientCredentials {
  std::string id;
  std::string secret;
};

// HTTP Basic, whose two parts are form-encoded (RFC 6749, section 2.3.1).
std::optional<ClientCredentials> basic_credentials(const Request& request) {
  const std::string_view header = request.headers.get("Authorization");
  if (!header.starts_with("Basic ") && !header.starts_with("basic ")) return std::nullopt;
  const auto plain = parse_base64(header.substr(6));
  const size_t colon = plain ? plain->find(':') : std::string::npos;
  if (colon == std::string::npos)
    throw Error(Code::invalid_client, "the Basic credentials can't be read");
  const auto id = percent_decode(std::string_view(*plain).substr(0, colon), Plus::is_blank);
  const auto secret = percent_decode(std::string_view(*plain).substr(colon + 1), Plus::is_blank);
  if (!id || !secret) throw Error(Code::invalid_client, "the Basic credentials can't be read");
  return ClientCredentials{*id, *secret};
}

std::string required(const json& body, const char* field) {
  const auto value = text_or_nothing(body, field);
  if (!value || value->empty())
    throw Error(Code::invalid_request, std::string(field) + " is required");
  return *value;
}

apps::App authenticated_client(db::Tx& tx, const Call& call) {
  const auto basic = basic_credentials(call.http);
  if (basic) {
    // One way to authenticate, not two (RFC 6749, section 2.3).
    if (call.body.contains("client_secret"))
      throw Error(Code::invalid_request, "client_secret is there twice: in Basic and in the body");
    const auto named = text_or_nothing(call.body, "client_id");
    if (named && *named != basic->id)
      throw Error(Code::invalid_request, "client_id differs from the one in Basic");
    return apps::authenticate(tx, basic->id, basic->secret);
  }
  const auto id = text_or_nothing(call.body, "client_id");
  const auto secret = text_or_nothing(call.body, "client_secret");
  if (!id || !secret) throw Error(Code::invalid_client, "client_id and client_secret are required");
  return apps::authenticate(tx, *id, *secret);
}

Reply encode(const oauth::Answer& answer) {
  Reply reply = {.headers = {{"Cache-Control", "no-store"}, {"Pragma", "no-cache"}}};
  if (!answer) {
    reply.refusal = answer.error();
    return reply;
  }
  reply.body = {
      {"access_token", answer->access_token},
      {"token_type", "Bearer"},
      {"expires_in",
       std::chrono::duration_cast<std::chrono::seconds>(oauth::access_token_lifetime).count()},
      {"refresh_token", answer->refresh_token},
      {"scope", answer->scopes.text()},
      {"player_id", answer->user_id}};
  if (answer->session_token) {
    reply.body["session_token"] = *answer->session_token;
    reply.body["session_token_expires_at"] = to_iso8601(*answer->session_token_expires_at);
  }
  return reply;
}

}  // namespace

Reply authorize(db::Tx& tx, const Call& call, const Services& services) {
  const auto parameter = [&](const char* name) {
    if (call.http.query.count(name) > 1)
      throw Error(Code::invalid_request, std::string(name) + " is there more than once");
    return call.query(name).value_or("");
  };
  const oauth::AuthorizationRequest request = {
      .client_id = parameter("client_id"),
      .redirect_uri = parameter("redirect_uri"),
      .response_type = parameter("response_type"),
      .scope = parameter("scope"),
      .code_challenge = parameter("code_challenge"),
      .code_challenge_method = parameter("code_challenge_method")};
  const std::string state = parameter("state");
  const oauth::AuthorizationCode code = oauth::authorize(tx, *call.user, request);
  Reply reply = {
      .body = {{"code", code.code},
               {"redirect_uri", code.redirect_uri},
               {"expires_in",
                std::chrono::duration_cast<std::chrono::seconds>(oauth::code_lifetime).count()},
               {"iss", services.base_url}},
      .headers = {{"Cache-Control", "no-store"}}};
  if (call.query("state")) reply.body["state"] = state;
  return reply;
}

Reply token(db::Tx& tx, const Call& call, const Services& services) {
  const std::string grant_type = required(call.body, "grant_type");
  if (grant_type == "authorization_code") {
    const apps::App client = authenticated_client(tx, call);
    return encode(oauth::exchange_code(
        tx, client, required(call.body, "code"), required(call.body, "redirect_uri"),
        required(call.body, "code_verifier"), services.oauth_policy));
  }
  if (grant_type == "refresh_token") {
    const apps::App client = authenticated_client(tx, call);
    return encode(
        oauth::refresh(tx, client, required(call.body, "refresh_token"), services.oauth_policy));
  }
  throw Error(Code::unsupported_grant_type,
              "grant_type must be authorization_code or refresh_token");
}

Reply refresh_tokens(db::Tx& tx, const Call& call, const Services& services) {
  return encode(
      oauth::refresh(tx, std::nullopt, call.body.at("refresh_token"), services.oauth_policy));
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

}  // namespace berth::api
