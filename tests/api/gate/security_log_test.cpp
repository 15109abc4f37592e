// The entries of the security log.
#include "api/gate/security_log.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "api/gate/internal_secret.h"
#include "api/gate/route.h"
#include "api/pages/pages.h"
#include "api/resources/accounts/sign_in.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

const SecurityLog::Time start = SecurityLog::Time() + 1000h;
const SecurityEvent failure = {.kind = SecurityKind::login_failed, .reason = "wrong_password"};

SecurityLog::Request from(const std::string& address) {
  return {.address = address, .route = "login", .request_id = "r"};
}

// Returns how often the metrics have counted the event.
int counted(const prometheus::Registry& registry, SecurityKind kind, const std::string& reason) {
  const std::string line =
      "security_events_total{kind=\"" + std::string(name(kind)) + "\",reason=\"" + reason + "\"} ";
  const std::string all = prometheus::TextSerializer().Serialize(registry.Collect());
  const size_t at = all.find(line);
  return at == std::string::npos ? 0 : std::stoi(all.substr(at + line.size()));
}

struct Watched : GateWorld {
  int count(SecurityKind kind, const std::string& reason) {
    return counted(registry(), kind, reason);
  }
  Answered post(const std::string& path, const json& body,
                const std::vector<Header>& headers = {}) {
    return ask("POST", path, headers, body.dump());
  }
};

TEST_CASE("a flood gets a few log lines per minute, and all of it is counted") {
  prometheus::Registry registry;
  SecurityLog log(registry);
  int lines = 0;
  for (int i = 0; i < 10'000; ++i)
    lines += log.note(failure, from("192.0.2." + std::to_string(i % 200)), start) ? 1 : 0;
  CHECK(lines == SecurityLog::lines_per_minute);
  CHECK(counted(registry, failure.kind, "wrong_password") == 10'000);
  // Another kind of event has a limit of its own.
  CHECK(log.note({.kind = SecurityKind::client_rejected, .reason = "wrong_secret"},
                 from("192.0.2.1"), start));
  CHECK(log.write_summaries(start + 59s) == 0);
  CHECK(log.write_summaries(start + 60s) == 1);
  CHECK(log.write_summaries(start + 120s) == 0);
  CHECK(log.note(failure, from("192.0.2.1"), start + 180s));
}

TEST_CASE("one network doesn't use up the log lines of all others") {
  prometheus::Registry registry;
  SecurityLog log(registry);
  int lines = 0;
  // One IPv6 customer has many addresses.
  for (int i = 0; i < 1'000; ++i)
    lines += log.note(failure, from("2001:db8::" + std::to_string(i)), start) ? 1 : 0;
  CHECK(lines == SecurityLog::lines_of_network.limit);
  CHECK(log.note(failure, from("192.0.2.1"), start));
}

TEST_CASE("failed and throttled logins are security events") {
  Watched w;
  w.services.rate_limits = true;
  const auto ada = w.world.new_user("ada");
  const auto log_in = [&](const std::string& email) {
    return w.post("/api/auth/login", {{"email", email}, {"password", "wrong"}}).error();
  };
  CHECK(log_in("nobody@example.org") == "401 invalid_credentials");
  CHECK(w.count(SecurityKind::login_failed, "unknown_account") == 1);
  for (int i = 0; i < 10; ++i) CHECK(log_in(ada.email) == "401 invalid_credentials");
  CHECK(w.count(SecurityKind::login_failed, "wrong_password") == 10);
  CHECK(log_in(ada.email) == "429 rate_limited");
  CHECK(w.count(SecurityKind::login_throttled, "password") == 1);
}

TEST_CASE("an address that nobody can have isn't a key of the throttle") {
  Watched w;
  w.services.rate_limits = true;
  const std::string email(accounts::max_email_length + 1, 'x');
  CHECK_THROWS_AS(sign_in({.email = email,
                           .password = "wrong",
                           .totp_code = {},
                           .address = "192.0.2.1",
                           .user_agent = ""},
                          w.services),
                  Error);
  CHECK(w.throttle.size() == 0);
}

TEST_CASE("a login that the hasher had no room for isn't counted") {
  Watched w;
  w.services.rate_limits = true;
  PasswordHasher full(0, 0);
  Services services = {.db = w.services.db,
                       .clock = w.services.clock,
                       .keys = w.services.keys,
                       .security = w.services.security,
                       .base_url = {},
                       .admission = w.services.admission,
                       .logins = {.passwords = full,
                                  .uses = w.services.logins.uses,
                                  .session_uses = w.services.logins.session_uses,
                                  .device_uses = w.services.logins.device_uses,
                                  .personal_token_uses = w.services.logins.personal_token_uses,
                                  .throttle = w.services.logins.throttle},
                       .memory = w.services.memory};
  const auto refused = [&] {
    try {
      sign_in({.email = "nobody@example.org",
               .password = "wrong",
               .totp_code = {},
               .address = "192.0.2.1",
               .user_agent = ""},
              services);
      return std::string();
    } catch (const Error& error) {
      return std::string(name(error.code));
    }
  };
  CHECK(refused() == "unavailable");
  CHECK(w.throttle.size() == 0);
}

TEST_CASE("rejected tokens are security events with their user, and requests without one aren't") {
  Operator f;
  const auto count = [&](const std::string& reason) {
    return counted(f.g.registry(), SecurityKind::token_rejected, reason);
  };
  CHECK(f.g.ask("GET", "/api/auth/me").status == 401);
  CHECK(count("invalid_token") == 0);
  CHECK(f.g.ask("GET", "/api/auth/me", {bearer("ey.made.up")}).status == 401);
  CHECK(f.g.ask("GET", "/api/deploy/apps", {bearer("at_live_made-up")}).status == 401);
  CHECK(count("invalid_token") == 2);
  CHECK(f.g.ask("GET", "/api/auth/me", {f.token}).error() == "401 wrong_token_type");
  CHECK(count("wrong_token_type") == 1);
  f.g.world.clock.advance(48h);
  CHECK(f.g.ask("GET", "/api/auth/me", {bearer(f.jwt)}).error() == "401 token_expired");
  CHECK(f.g.ask("GET", "/api/deploy/apps", {f.token}).error() == "401 token_expired");
  CHECK(count("token_expired") == 2);
}

TEST_CASE("wrong client secrets, used codes and used refresh tokens are security events") {
  Operator f;
  const json client = {{"client_id", f.app.client_id},
                       {"client_secret", f.registered.client_secret}};
  const auto token = [&](json body) {
    body.update(client);
    return f.g.ask("POST", "/api/oauth/token", {}, body.dump()).status;
  };
  const json wrong = {{"grant_type", "refresh_token"},
                      {"refresh_token", f.tokens.refresh_token},
                      {"client_id", f.app.client_id},
                      {"client_secret", "wrong"}};
  CHECK(f.g.ask("POST", "/api/oauth/token", {}, wrong.dump()).status == 401);
  CHECK(counted(f.g.registry(), SecurityKind::client_rejected, "wrong_secret") == 1);

  const json refresh = {{"grant_type", "refresh_token"}, {"refresh_token", f.tokens.refresh_token}};
  CHECK(token(refresh) == 200);
  CHECK(token(refresh) == 401);
  CHECK(counted(f.g.registry(), SecurityKind::refresh_token_reused, "within_grace") == 1);
  f.g.world.clock.advance(1min);
  CHECK(token(refresh) == 401);
  CHECK(counted(f.g.registry(), SecurityKind::refresh_token_reused, "family_revoked") == 1);
  CHECK(token({{"grant_type", "refresh_token"}, {"refresh_token", "rt_live_made-up"}}) == 401);
  CHECK(counted(f.g.registry(), SecurityKind::token_rejected, "unknown") == 1);

  const json exchange = {{"grant_type", "authorization_code"},
                         {"code", f.g.world.authorize(f.app, f.user)},
                         {"redirect_uri", berth::test::redirect_uri},
                         {"code_verifier", berth::test::code_verifier}};
  CHECK(token(exchange) == 200);
  CHECK(token(exchange) == 400);
  CHECK(counted(f.g.registry(), SecurityKind::authorization_code_reused, "family_revoked") == 1);
}

TEST_CASE("wrong internal secrets are limited and logged; the right one always works") {
  Watched w;
  w.services.rate_limits = true;
  const auto guess = [&](const std::string& secret) {
    return w.ask("GET", "/api/internal/treasury", {{"x-internal-secret", secret}});
  };
  const int most = InternalSecret::wrong_of_network.limit;
  for (int i = 0; i < most; ++i)
    CHECK(guess("guess " + std::to_string(i)).error() == "403 forbidden");
  const Answered limited = guess("one more");
  CHECK(limited.error() == "429 rate_limited");
  CHECK(std::stoi(limited.header("Retry-After")) > 0);
  CHECK(w.count(SecurityKind::internal_secret_rejected, "wrong") == most);
  CHECK(w.count(SecurityKind::internal_secret_rejected, "throttled") == 1);
  CHECK(w.ask("GET", "/api/internal/nothing", {{"x-internal-secret", "one more"}}).status == 429);
  CHECK(w.ask("GET", "/api/internal/treasury").error() == "403 forbidden");
  CHECK(w.ask("GET", "/api/internal/treasury", w.admin).status == 200);
  w.remote_address = "192.0.2.2";
  CHECK(guess("another network's").error() == "403 forbidden");
}

TEST_CASE("wrong internal secrets from many networks are limited together") {
  InternalSecret secret("the right one", true);
  const auto check = [&](const std::string& shown, int network) {
    return berth::test::refusal([&] {
      if (!secret.name_of(shown)) secret.refuse(shown, "192.0.2." + std::to_string(network), start);
    });
  };
  const int most = InternalSecret::wrong_of_all.limit;
  for (int i = 0; i < most; ++i) CHECK(check("wrong", i % 100) == "403 forbidden");
  CHECK(check("wrong", 200) == "429 rate_limited");
  CHECK(check("", 200) == "403 forbidden");
  CHECK(check("the right one", 200) == "");
}

// Operations about accounts, tokens, apps or the platform whose successes leave no event, and why.
const std::map<std::string, std::string> silent = {
    {"login", "its handler notes it, with the network's novelty"},
    {"logInByPasskey", "its handler notes it, with the network's novelty"},
    {"askToLogInByPasskey", "only makes a challenge, and stores nothing"},
    {"verifyToken", "only tells about a token"},
    {"previewGuestMerge", "only tells what a merge would do"},
    {"introspect", "only tells about a token"},
    {"userinfoByPost", "only tells who the token is of"},
    {"sessionHeartbeat", "comes every half minute; the session's start and end are noted"},
    {"testWebhook", "sends a test event and changes nothing"},
    {"testAlert", "sends a test message and changes nothing"},
};
const std::string concerned[] = {"/api/auth/",     "/api/oauth/",        "/api/sessions/",
                                 "/api/internal/", "/api/operator/apps", "/api/operator/alerts"};

bool concerns_security(const Route& route) {
  const bool changes = route.method() != "GET" || std::holds_alternative<WriteHandler>(route.run);
  return changes && std::ranges::any_of(concerned, [&](const std::string& prefix) {
           return route.path().starts_with(prefix);
         });
}

TEST_CASE("every operation about accounts, tokens, apps and the platform leaves an event") {
  std::set<std::string> unused;
  for (const auto& [name, reason] : silent) unused.insert(name);
  int walked = 0, with_event = 0, by_admins = 0;
  for (const Route& route : routes()) {
    ++walked;
    const auto event = security_event_of_success(route);
    if (event && event->kind == SecurityKind::admin_action) ++by_admins;
    if (!concerns_security(route)) continue;
    CAPTURE(route.name);
    unused.erase(std::string(route.name));
    CHECK(event.has_value() != silent.contains(std::string(route.name)));
    if (event) ++with_event;
  }
  CHECK(unused.empty());
  WARN(walked << " operations: " << with_event << " with an event, " << by_admins
              << " of them by admins; " << silent.size() << " are silent for a reason");
  CHECK(with_event >= 70);
  CHECK(by_admins >= 30);
}

TEST_CASE("every form of the hosted pages leaves an event, or its handler does") {
  // These handlers set the page's event, because their success may also be a question or a refusal.
  const std::set<std::string_view> by_handler = {"/login",   "/login/code", "/login/passkey",
                                                 "/consent", "/device",     "/device/decide",
                                                 "/language"};
  // They change nothing: the one leads to the page that asks for consent, and the other to the page
  // that asks whether to log out.
  const std::set<std::string_view> silent_forms = {"/api/oauth/authorize", "/end-session"};
  int walked = 0;
  for (const pages::PageRow& row : pages::Pages::rows()) {
    if (row.method != "POST") continue;
    CAPTURE(row.path);
    ++walked;
    CHECK(security_event_of_success(row.event).has_value() !=
          (by_handler.contains(row.path) || silent_forms.contains(row.path)));
  }
  CHECK(walked >= 25);
}

TEST_CASE("each kind of event has a name, and what strangers can cause has a limit") {
  std::set<std::string_view> names;
  int limited = 0;
  for (size_t i = 0; i <= size_t(last_security_kind); ++i) {
    CHECK(names.insert(name(SecurityKind(i))).second);
    CHECK_FALSE(name(SecurityKind(i)).empty());
    if (is_limited(SecurityKind(i))) ++limited;
  }
  CHECK(names.size() == 29);
  CHECK(limited == 13);
  prometheus::Registry registry;
  SecurityLog log(registry);
  const SecurityEvent login = {.kind = SecurityKind::login_succeeded, .reason = "success"};
  for (int i = 0; i < 100; ++i) CHECK(log.note(login, from("192.0.2.1"), start));
}

TEST_CASE("logins, registrations and deletions are security events") {
  Watched w;
  const json ada = {
      {"email", "ada@example.org"}, {"username", "ada"}, {"password", "correct horse battery"}};
  CHECK(w.post("/api/auth/register", ada).status == 201);
  CHECK(w.count(SecurityKind::account_registered, "registered") == 1);
  const json credentials = {{"email", "ada@example.org"}, {"password", "correct horse battery"}};
  CHECK(w.post("/api/auth/login", credentials).status == 200);
  CHECK(w.count(SecurityKind::login_from_new_network, "success") == 1);
  const Answered again = w.post("/api/auth/login", credentials);
  CHECK(w.count(SecurityKind::login_succeeded, "success") == 1);
  const Header token = bearer(again.body.at("token"));
  CHECK(
      w.ask("DELETE", "/api/auth/me", {token}, R"({"password": "correct horse battery"})").status ==
      200);
  CHECK(w.count(SecurityKind::account_deleted, "by_user") == 1);
}

TEST_CASE("who reaches for another's app is in the log, and every other 403") {
  Operator f;
  const auto count = [&](const std::string& reason) {
    return counted(f.g.registry(), SecurityKind::access_refused, reason);
  };
  const auto eve = f.g.world.verified_user("eve");
  const auto of_eve = f.g.world.new_app(eve);
  CHECK(f.g.ask("GET", "/api/operator/apps/" + of_eve.app.id, {bearer(f.jwt)}).status == 403);
  CHECK(count("of_another_app") == 1);
  CHECK(f.g.ask("POST", "/api/external/points/award", {f.token}, "{}").status == 403);
  const SecurityEvent event = *security_event_of(Error(Code::email_not_verified, "verify it"));
  CHECK(event.kind == SecurityKind::access_refused);
  CHECK(event.reason == "email_not_verified");
  CHECK_FALSE(security_event_of(Error(Code::app_not_found, "no such app")));
}

TEST_CASE("nobody who has the internal secret takes the name of a person") {
  Operator o;
  const std::string body =
      json{{"account", {{"kind", "treasury"}}}, {"amount", 5}, {"reason", "test"}}.dump();
  const auto mint = [&](const std::string& actor) {
    auto headers = o.g.admin;
    headers.push_back({"X-Admin-Actor", actor});
    return o.g.ask("POST", "/api/internal/points/mint", headers, body).status;
  };
  for (const std::string& actor :
       {"user:" + o.user.id, std::string("user:"), std::string("USER:ada"), std::string("user :x"),
        std::string(" user:x"), std::string("u\u200bser:x"), std::string("us\u0435r:x"),
        std::string("\uff55ser:x"), std::string("user\uff1ax"), std::string("\u202eresu:x"),
        std::string("ada\x01"), std::string("\xff")}) {
    CAPTURE(actor);
    CHECK(mint(actor) == 400);
  }
  for (const char* actor : {"grace", "Grace Hopper", "ops-team", "username", "super user: no"})
    CHECK(mint(actor) == 201);
  CHECK(o.g.world.read([](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM audit_log WHERE actor LIKE 'user%:%'");
  }) == 0);
  CHECK(counted(o.g.registry(), SecurityKind::admin_action, "mint") == 5);
}

}  // namespace
