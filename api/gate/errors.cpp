#include "api/gate/errors.h"

#include "controller/domain/accounts/sessions.h"

namespace berth::api {
namespace {

// A quoted string for an HTTP header: quotes and backslashes are escaped, and everything that isn't
// printable ASCII is replaced (RFC 6750, section 3).
std::string quoted_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return result + '"';
}

bool concerns_token(Code code) {
  switch (code) {
    case Code::invalid_token:
    case Code::token_expired:
    case Code::token_revoked:
    case Code::wrong_token_type:
      return true;
    default:
      return false;
  }
}

std::string bearer_challenge(const Error& error, const Challenge& challenge) {
  std::string value = "Bearer realm=\"berth\"";
  // If no token was sent, the challenge names no error (RFC 6750, section 3.1).
  if (error.code == Code::insufficient_scope) {
    value += ", error=\"insufficient_scope\"";
    // The scope is optional (RFC 6750, section 3). A session token that may only read wouldn't be
    // accepted with any scope.
    if (!challenge.scope.empty()) value += ", scope=" + quoted_string(challenge.scope);
  }
  // The challenge for a login that is too old (RFC 9470, section 3).
  if (error.code == Code::insufficient_user_authentication)
    value += ", error=\"insufficient_user_authentication\", error_description=" +
             quoted_string(error.what()) + ", max_age=\"" +
             std::to_string(std::chrono::seconds(accounts::proof_fresh_for).count()) + "\"";
  if (concerns_token(error.code) && challenge.with_credentials)
    value += ", error=\"invalid_token\", error_description=" + quoted_string(error.what());
  return value + ", resource_metadata=" +
         quoted_string(challenge.base_url + "/.well-known/oauth-protected-resource");
}

// Below the base URL: the page with a row for each code, whose name is the anchor.
constexpr std::string_view page_of_errors = "/docs/reference/errors#";

json body_for(const Error& error, ErrorBody form) {
  const std::string_view code = name(error.code);
  switch (form) {
    case ErrorBody::simple: {
      json body = {{"error", code}, {"message", error.what()}};
      if (!error.details.empty()) body["details"] = error.details;
      return body;
    }
    case ErrorBody::oauth:
      return {{"error", code}, {"error_description", description_of(error)}};
    case ErrorBody::oauth_and_message:
      return {
          {"error", code}, {"error_description", description_of(error)}, {"message", error.what()}};
    case ErrorBody::framework:
      return {{"errors", {{"detail", error.what()}, {"code", code}}}};
    case ErrorBody::nested:
      break;
  }
  json inner = {{"code", code}, {"message", error.what()}};
  if (!error.details.empty()) inner["details"] = error.details;
  return {{"error", std::move(inner)}};
}

}  // namespace

std::string description_of(const Error& error) {
  std::string text = error.what();
  for (char& c : text) {
    if (c == '"') c = '\'';
    if (c == '\\') c = '/';
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

ErrorBody body_of(Shape shape, int status) {
  if (status == 413 || status == 431 || status >= 500) return ErrorBody::framework;
  if (shape == Shape::oauth) return ErrorBody::oauth;
  if (shape == Shape::oauth_and_message) return ErrorBody::oauth_and_message;
  if (shape == Shape::simple) return ErrorBody::simple;
  if (shape == Shape::nested_but_access && (status == 401 || status == 403))
    return ErrorBody::simple;
  return ErrorBody::nested;
}

Reply reply_to(const Error& error, Shape shape, const Challenge& challenge) {
  const int http_status = status(error.code);
  const ErrorBody form = body_of(shape, http_status);
  Reply reply = {.status = http_status, .body = body_for(error, form)};
  // The other forms are fixed by RFC 6749 or by the specification.
  if (form == ErrorBody::nested && !challenge.base_url.empty())
    reply.body["error"]["docs_url"] =
        challenge.base_url + std::string(page_of_errors) + std::string(name(error.code));
  if (error.retry_after)
    reply.headers.emplace_back("Retry-After", std::to_string(error.retry_after->count()));
  if (error.code == Code::upgrade_required) {
    // RFC 9110, section 15.5.22; RFC 6455, section 4.4.
    reply.headers.emplace_back("Upgrade", "websocket");
    reply.headers.emplace_back("Sec-WebSocket-Version", "13");
  }
  if (error.code == Code::consumed_refresh_token) return reply;
  // A client that isn't who it says needs no token: a Bearer challenge would send it looking for
  // one (RFC 6749, section 5.2).
  if (error.code == Code::invalid_client) {
    reply.headers.emplace_back("WWW-Authenticate", "Basic realm=\"berth\"");
    return reply;
  }
  if (http_status == 401 || error.code == Code::insufficient_scope)
    reply.headers.emplace_back("WWW-Authenticate", bearer_challenge(error, challenge));
  return reply;
}

std::string framework_body(std::string_view detail) {
  return json{{"errors", {{"detail", detail}}}}.dump();
}

Reply router_reply(int http_status, std::string_view detail) {
  return {.status = http_status, .body = {{"errors", {{"detail", detail}}}}};
}

}  // namespace berth::api
