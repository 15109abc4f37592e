#include "api/resources/oauth/redirect.h"

#include "controller/base/error.h"
#include "controller/base/url.h"

namespace berth::api {
AuthorizationQuestion authorization_question(const Query& query) {
  for (const char* name : {"client_id", "redirect_uri"})
    if (query.count(name) > 1)
      throw Error(Code::invalid_request, std::string(name) + " occurs more than once");
  AuthorizationQuestion question;
  oauth::AuthorizationRequest& request = question.request;
  const auto value = [&](const char* name) {
    const auto found = query.find(name);
    if (query.count(name) > 1) request.repeated = name;
    return found == query.end() ? std::string() : found->second;
  };
  request.client_id = value("client_id");
  request.redirect_uri = value("redirect_uri");
  request.response_type = value("response_type");
  request.response_mode = value("response_mode");
  request.scope = value("scope");
  request.code_challenge = value("code_challenge");
  request.code_challenge_method = value("code_challenge_method");
  request.nonce = value("nonce");
  request.prompt = value("prompt");
  request.max_age = value("max_age");
  request.authenticated_since = value("authenticated_since");
  request.has_request_object = query.contains("request");
  request.has_request_uri = query.contains("request_uri");
  question.login_hint = value("login_hint");
  question.ui_locales = value("ui_locales");
  question.id_token_hint = value("id_token_hint");
  const std::string state = value("state");
  // A state that occurs twice has no single value that could be sent back.
  if (query.count("state") == 1) question.state = state;
  return question;
}

std::string redirect_to(std::string_view uri, const RedirectParameters& parameters) {
  std::string target(uri);
  char separator = target.find('?') == std::string::npos ? '?' : '&';
  for (const auto& [name, value] : parameters) {
    target.append({separator}).append(percent_encode(name) + "=" + percent_encode(value));
    separator = '&';
  }
  return target;
}

}  // namespace berth::api
