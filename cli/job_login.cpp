#include "cli/job_login.h"

#include "cli/login.h"
#include "controller/base/crypto.h"

namespace berth::cli {
namespace {

// Asks GitHub Actions for an ID token whose audience is the server, so that no other service
// accepts it.
std::string id_token_of_actions(const Settings& settings) {
  const std::string url = *settings.actions_url +
                          (settings.actions_url->find('?') == std::string::npos ? "?" : "&") +
                          encoded({{"audience", settings.server}});
  HttpResponse response;
  try {
    response = perform({.url = url,
                        .headers = {"Authorization: Bearer " + *settings.actions_token,
                                    "Accept: application/json"}});
  } catch (const NoAnswer& error) {
    throw Failure(Exit::unavailable,
                  std::string("GitHub Actions gives no ID token: ") + error.what());
  }
  const json body = json::parse(response.body, nullptr, false);
  if (response.status != 200 || !body.is_object() || !body.contains("value") ||
      !body.at("value").is_string())
    throw Failure(
        Exit::failed,
        "GitHub Actions gives no ID token: it answered with " + std::to_string(response.status),
        "The job needs `permissions: {id-token: write, contents: read}`.");
  return body.at("value");
}

const std::string& client_id_of(const Settings& settings) {
  return settings.app.empty() ? settings.client_id : settings.app;
}

}  // namespace

bool asks_for_id_tokens(const Settings& settings) {
  return !settings.id_token && settings.actions_url && settings.actions_token;
}

bool is_job(const Settings& settings) {
  const bool has_others = settings.token || (!settings.client_id.empty() && settings.client_secret);
  return !has_others && client_id_of(settings).starts_with("client_") &&
         (settings.id_token || asks_for_id_tokens(settings));
}

std::string key_of_job(const Settings& settings) {
  const std::string& secret = settings.id_token ? *settings.id_token : *settings.actions_token;
  return hex(sha256(client_id_of(settings) + "\n" + secret));
}

Tokens exchange_id_token(Api& api) {
  const Settings& settings = api.settings();
  const std::string id_token =
      settings.id_token ? *settings.id_token : id_token_of_actions(settings);
  const HttpResponse response = api.raw(
      {.method = "POST",
       .url = "/api/oauth/token",
       .headers = {"Accept: application/json", "Content-Type: application/x-www-form-urlencoded"},
       .body = encoded({{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                        {"subject_token", id_token},
                        {"subject_token_type", "urn:ietf:params:oauth:token-type:id_token"},
                        {"audience", client_id_of(settings)}})});
  return tokens_in(response, Grant::id_token);
}

}  // namespace berth::cli
