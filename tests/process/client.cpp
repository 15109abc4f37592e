#include "tests/process/client.h"

#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <thread>

#include "controller/base/crypto.h"

namespace berth::process {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::string encoded(std::string_view text) {
  static constexpr const char* digits = "0123456789ABCDEF";
  std::string result;
  for (const unsigned char c : text) {
    if (std::isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~')
      result += char(c);
    else
      result.append({'%', digits[c >> 4], digits[c & 15]});
  }
  return result;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

}  // namespace

std::string Answer::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (same_name(key, name)) return value;
  return {};
}

bool Answer::has_header(std::string_view name) const {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& entry) { return same_name(entry.first, name); });
}

std::string Answer::code() const {
  if (!body.is_object() || !body.contains("error")) return {};
  const json& error = body["error"];
  return error.is_object() ? error.value("code", "") : error.get<std::string>();
}

Client::Client(const Berthd& berthd, std::string bearer)
    : berthd_(&berthd), bearer_(std::move(bearer)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;

Answer Client::ask(const Ask& ask) {
  if (!http_ || port_ != berthd_->port()) {
    port_ = berthd_->port();
    http_ = std::make_unique<httplib::Client>("127.0.0.1", port_);
    http_->set_keep_alive(true);
    http_->set_tcp_nodelay(true);
    http_->set_url_encode(false);
    http_->set_read_timeout(patience);
  }
  httplib::Request request;
  request.method = ask.method;
  request.path = ask.path;
  request.body = ask.body;
  for (const auto& [name, value] : ask.headers) request.headers.emplace(name, value);
  if (!bearer_.empty() && !request.has_header("Authorization"))
    request.headers.emplace("Authorization", "Bearer " + bearer_);
  const httplib::Result result = http_->send(request);
  const std::string question = ask.method + " " + ask.path;
  if (!result)
    throw NoAnswer(question + ": " + httplib::to_string(result.error()) + "; " +
                   berthd_->end_of_log());
  Answer answer = {.status = result->status,
                   .text = result->body,
                   .body = json::parse(result->body, nullptr, false),
                   .headers = {},
                   .question = question};
  for (const auto& [name, value] : result->headers) answer.headers.emplace(name, value);
  return answer;
}

Answer Client::get(const std::string& path, Headers headers) {
  return ask({.method = "GET", .path = path, .headers = std::move(headers)});
}

Answer Client::post(const std::string& path, const json& body, Headers headers) {
  headers.emplace("Content-Type", "application/json");
  return ask({.method = "POST", .path = path, .body = body.dump(), .headers = std::move(headers)});
}

Answer Client::post(const std::string& path) { return ask({.method = "POST", .path = path}); }
Answer Client::remove(const std::string& path) { return ask({.method = "DELETE", .path = path}); }

Answer expect(int status, Answer answer) {
  if (answer.status != status)
    throw std::runtime_error(answer.question + ": " + std::to_string(answer.status) +
                             " instead of " + std::to_string(status) + ": " + answer.text);
  return answer;
}

std::string fresh_name(const std::string& begin) {
  static std::atomic<int> made = 0;
  return begin + std::to_string(++made);
}

User register_user(const Berthd& berthd, const std::string& username) {
  User user = {.id = {},
               .email = username + "@example.org",
               .username = username,
               .password = "secret password of " + username,
               .jwt = {}};
  const json body = {{"email", user.email}, {"password", user.password}, {"username", username}};
  const Answer answer = expect(201, Client(berthd).post("/api/auth/register", body));
  user.id = answer.body.at("user").at("id");
  return user;
}

void verify_email(const Berthd& berthd, const User& user) {
  Client client(berthd);
  const Answer outbox = expect(200, client.get("/api/internal/outbox", admin(berthd)));
  for (const json& mail : outbox.body.at("messages")) {
    if (mail.at("to") != user.email) continue;
    expect(200, client.post("/api/auth/verify-email", {{"token", mail.at("token")}}));
    return;
  }
  throw std::runtime_error("no mail was sent to " + user.email);
}

User log_in(const Berthd& berthd, User user) {
  const json body = {{"email", user.email}, {"password", user.password}};
  const Answer answer = expect(200, Client(berthd).post("/api/auth/login", body));
  user.jwt = answer.body.at("token");
  user.id = answer.body.at("user").at("id");
  return user;
}

User register_verified_user(const Berthd& berthd, const std::string& username) {
  User user = log_in(berthd, register_user(berthd, username));
  expect(200, Client(berthd, user.jwt).post("/api/auth/self-verify-email"));
  return user;
}

App create_app(const Berthd& berthd, const User& owner, const std::vector<std::string>& scopes) {
  const std::string redirect_uri = "https://" + owner.username + ".example.org/callback";
  const json body = {{"app_name", "App of " + owner.username},
                     {"redirect_uris", {redirect_uri}},
                     {"allowed_scopes", scopes}};
  const Answer answer = expect(201, Client(berthd, owner.jwt).post("/api/oauth/apps", body));
  const json& app = answer.body.at("app");
  return {.id = app.at("id"),
          .client_id = app.at("client_id"),
          .client_secret = app.at("client_secret"),
          .redirect_uri = redirect_uri};
}

void approve(const Berthd& berthd, const User& owner, const App& app,
             const std::vector<std::string>& scopes) {
  Client client(berthd, owner.jwt);
  const Answer asked = expect(201, client.post("/api/oauth/my-apps/" + app.id + "/scope-request",
                                               {{"requested_scopes", scopes}}));
  if (asked.body.at("status") == "approved") return;
  const std::string id = asked.body.at("id");
  expect(200, client.ask({.method = "POST",
                          .path = "/api/internal/scope-requests/" + id + "/approve",
                          .headers = admin(berthd)}));
}

Code authorize(const Berthd& berthd, const User& user, const App& app,
               const std::vector<std::string>& scopes) {
  const std::string verifier = base64url(random_bytes(32));
  const std::string query = "?response_type=code&client_id=" + encoded(app.client_id) +
                            "&redirect_uri=" + encoded(app.redirect_uri) +
                            "&scope=" + encoded(joined(scopes)) +
                            "&code_challenge=" + base64url(sha256(verifier)) +
                            "&code_challenge_method=S256&state=a%20state";
  const Answer answer = expect(200, Client(berthd, user.jwt).get("/api/oauth/authorize" + query));
  if (answer.body.at("state") != "a state" || answer.body.at("expires_in") != 600 ||
      answer.body.at("redirect_uri") != app.redirect_uri)
    throw std::runtime_error("an odd answer of authorize: " + answer.text);
  return {.code = answer.body.at("code"), .verifier = verifier};
}

json code_exchange(const App& app, const Code& code) {
  return {{"grant_type", "authorization_code"}, {"code", code.code},
          {"redirect_uri", app.redirect_uri},   {"code_verifier", code.verifier},
          {"client_id", app.client_id},         {"client_secret", app.client_secret}};
}

json refresh_exchange(const App& app, const std::string& refresh_token) {
  return {{"grant_type", "refresh_token"},
          {"refresh_token", refresh_token},
          {"client_id", app.client_id},
          {"client_secret", app.client_secret}};
}

Tokens tokens_of(const Answer& answer) {
  return {.access_token = answer.body.at("access_token"),
          .refresh_token = answer.body.at("refresh_token"),
          .session_token = answer.body.value("session_token", "")};
}

Operator operator_with_token(const Berthd& berthd, const std::string& username,
                             const std::vector<std::string>& scopes) {
  User user = register_verified_user(berthd, username);
  App app = create_app(berthd, user, scopes);
  approve(berthd, user, app, scopes);
  const Code code = authorize(berthd, user, app, scopes);
  Tokens tokens =
      tokens_of(expect(200, Client(berthd).post("/api/oauth/token", code_exchange(app, code))));
  Client api(berthd, tokens.access_token);
  return {std::move(user), std::move(app), std::move(tokens), std::move(api)};
}

Headers admin(const Berthd& berthd) { return {{"x-internal-secret", berthd.internal_secret()}}; }

json order(const std::string& name, const std::string& image) {
  return {{"name", name}, {"image", image}, {"tier", "free"}};
}

std::string deploy(Client& api, const json& order) {
  return expect(201, api.post("/api/deploy/apps", order)).body.at("id");
}

json status_of(Client& api, const std::string& id) {
  return expect(200, api.get("/api/deploy/apps/" + id + "/status")).body;
}

json wait_until_status(Client& api, const std::string& id, const std::string& status) {
  constexpr std::chrono::milliseconds between_asks{30};
  json seen;
  const bool reached = eventually([&] {
    seen = status_of(api, id);
    if (seen.at("status") == status) return true;
    std::this_thread::sleep_for(between_asks);
    return false;
  });
  if (!reached) throw std::runtime_error(id + " isn't " + status + " but " + seen.dump());
  return seen;
}

Answer page_of(const Berthd& berthd, const std::string& name) {
  const std::string host = name + ".apps.localhost:" + std::to_string(berthd.port());
  return Client(berthd).get("/", {{"Host", host}});
}

Answer ask_metrics(const Berthd& berthd, const std::string& path) {
  httplib::Client http("127.0.0.1", berthd.metrics_port());
  const httplib::Result result = http.Get(path);
  if (!result) throw NoAnswer(path + ": " + httplib::to_string(result.error()));
  return {.status = result->status, .text = result->body, .body = {}, .question = "GET " + path};
}

Flags roomy_tier() {
  return {"--tiers",
          "[{slug: free, name: Free, memory-mb: 64, cpu-millicores: 50, monthly-cost-points: 0, "
          "max-deployments: 1000, auto-approve: true}]"};
}

Flags open_flags() {
  Flags flags = roomy_tier();
  flags.insert(flags.end(), {"--rate-limits", "off"});
  return flags;
}

void advance(const Berthd& berthd, int seconds) {
  expect(200,
         Client(berthd).post("/api/internal/clock", {{"advance_seconds", seconds}}, admin(berthd)));
}

Person person(const Berthd& berthd, const std::string& username) {
  User user = register_verified_user(berthd, username);
  std::string jwt = user.jwt;
  return {std::move(user), Client(berthd, std::move(jwt))};
}

}  // namespace berth::process
