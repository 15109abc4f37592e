#include "tests/process/oauth.h"

#include <cctype>

#include "controller/base/crypto.h"

namespace berth::process {
namespace {

std::string encoded(std::string_view text) {
  static constexpr const char* digits = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte))
      result += c;
    else
      result.append({'%', digits[byte >> 4], digits[byte & 15]});
  }
  return result;
}

}  // namespace

std::string form_encoded(const Form& form) {
  std::string text;
  for (const auto& [name, value] : form)
    text += (text.empty() ? "" : "&") + encoded(name) + "=" + encoded(value);
  return text;
}

Answer post_form(Client& client, const std::string& path, const Form& form, Headers headers) {
  headers.emplace("Content-Type", "application/x-www-form-urlencoded");
  return client.ask(
      {.method = "POST", .path = path, .body = form_encoded(form), .headers = std::move(headers)});
}

Headers basic(const App& app) {
  return {{"Authorization", "Basic " + base64(app.client_id + ":" + app.client_secret)}};
}

Form authorization(const App& app, const std::string& scope, const std::string& challenge) {
  return {{"response_type", "code"},          {"client_id", app.client_id},
          {"redirect_uri", app.redirect_uri}, {"scope", scope},
          {"code_challenge", challenge},      {"code_challenge_method", "S256"}};
}

Answer ask_authorization(const Berthd& berthd, const User& user, const Form& parameters) {
  return Client(berthd, user.jwt).get("/api/oauth/authorize?" + form_encoded(parameters));
}

bool works(const Berthd& berthd, const std::string& access_token) {
  const json body = {{"token", access_token}};
  return expect(200, Client(berthd).post("/api/oauth/token/verify", body)).body.at("active");
}

Answer inspect(const Berthd& berthd, const App& app, const std::string& token) {
  Client client(berthd);
  return post_form(client, "/api/oauth/introspect", {{"token", token}}, basic(app));
}

Answer revoke(const Berthd& berthd, const App& app, const std::string& token) {
  Client client(berthd);
  return post_form(client, "/api/oauth/revoke", {{"token", token}}, basic(app));
}

}  // namespace berth::process
