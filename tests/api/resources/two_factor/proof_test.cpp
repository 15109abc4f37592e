// Operations that require a fresh proof of the password or the second factor, in addition to a
// session.
#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"
#include "tests/totp.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

const std::string password = "correct horse battery";
const std::string stale = "401 insufficient_user_authentication";

// A user, ada, who has registered and logged in.
struct Account {
  GateWorld g;
  std::string jwt;

  Account() {
    const json body = {{"email", "ada@example.org"}, {"username", "ada"}, {"password", password}};
    REQUIRE(post("/api/auth/register", body).status == 201);
    jwt = log_in();
  }
  Answered post(const std::string& path, const json& body = nullptr) {
    return g.ask("POST", path, jwt.empty() ? std::vector<Header>{} : std::vector{bearer(jwt)},
                 body.is_null() ? "" : body.dump());
  }
  std::string log_in(const json& more = json::object()) {
    json body = {{"email", "ada@example.org"}, {"password", password}};
    body.update(more);
    const auto answer = post("/api/auth/login", body);
    REQUIRE(answer.status == 200);
    return answer.body["token"];
  }
  std::string code(const std::string& secret) {
    return berth::test::totp(secret, to_millis(g.world.clock.now()) / 1000);
  }
  std::string set_up() { return post("/api/auth/totp/setup").body["secret"]; }
  // Enables the second factor with a fresh proof. Returns the secret and the recovery codes.
  std::pair<std::string, std::vector<std::string>> enabled() {
    const std::string secret = set_up();
    const auto answer = post("/api/auth/totp/enable", {{"code", code(secret)}});
    REQUIRE(answer.status == 200);
    return {secret, answer.body["recovery_codes"]};
  }
  void wait() { g.world.clock.advance(10min); }
  // Returns subject and text of the newest mail to ada.
  std::string newest_mail() {
    const json mail = g.ask("GET", "/api/internal/outbox", g.admin).body["messages"][0];
    CHECK(mail["to"] == "ada@example.org");
    return mail["subject"].get<std::string>() + "\n" + mail["body"].get<std::string>();
  }
};

TEST_CASE("within ten minutes of the login, enabling the second factor needs no other proof") {
  Account a;
  const std::string secret = a.set_up();
  a.g.world.clock.advance(10min - 1ms);
  CHECK(a.post("/api/auth/totp/enable", {{"code", a.code(secret)}}).status == 200);
  CHECK_THAT(a.newest_mail(), Catch::Contains("logging in now requires a second factor"));
}

TEST_CASE("later, a stolen session can't enable a second factor") {
  Account a;
  const std::string secret = a.set_up();
  a.wait();
  const auto refused = a.post("/api/auth/totp/enable", {{"code", a.code(secret)}});
  CHECK(refused.error() == stale);
  CHECK(refused.body["message"].is_string());
  CHECK_THAT(refused.header("WWW-Authenticate"),
             Catch::Contains("error=\"insufficient_user_authentication\"") &&
                 Catch::Contains("max_age=\"600\""));
  const auto with = [&](const json& proof) {
    json body = {{"code", a.code(secret)}};
    body.update(proof);
    return a.post("/api/auth/totp/enable", body);
  };
  CHECK(with({{"password", "wrong horse battery"}}).error() == "401 invalid_credentials");
  CHECK(with({{"password", nullptr}}).error() == stale);
  // A code of the new authenticator proves nothing, whatever field it is sent in.
  CHECK(with({{"totp_code", a.code(secret)}}).error() == "401 invalid_totp");
  CHECK(a.g.ask("GET", "/api/auth/me", {bearer(a.jwt)}).body["user"]["totp_enabled"] == false);
  CHECK(with({{"password", password}}).status == 200);
}

TEST_CASE("new recovery codes require a fresh proof, and are announced by mail") {
  Account a;
  const auto [secret, old_codes] = a.enabled();
  CHECK(a.post("/api/auth/totp/recovery-codes").status == 200);
  CHECK_THAT(a.newest_mail(), Catch::Contains("new recovery codes were created"));
  a.wait();
  CHECK(a.post("/api/auth/totp/recovery-codes").error() == stale);
  CHECK(a.post("/api/auth/totp/recovery-codes", json::object()).error() == stale);
  CHECK(a.post("/api/auth/totp/recovery-codes", {{"password", "wrong"}}).error() ==
        "401 invalid_credentials");
  CHECK(a.post("/api/auth/totp/recovery-codes", {{"totp_code", "000000"}}).error() ==
        "401 invalid_totp");
  SECTION("not by the password: recovery codes are a second factor") {
    CHECK(a.post("/api/auth/totp/recovery-codes", {{"password", password}}).error() == stale);
    CHECK(a.post("/api/auth/totp/recovery-codes").error() == stale);
  }
  SECTION("by a code, which works once") {
    const json body = {{"totp_code", a.code(secret)}};
    CHECK(a.post("/api/auth/totp/recovery-codes", body).status == 200);
    CHECK(a.post("/api/auth/totp/recovery-codes", body).error() == "401 invalid_totp");
  }
  SECTION("of both, both have to be right") {
    CHECK(a.post("/api/auth/totp/recovery-codes", {{"password", password}, {"totp_code", "000000"}})
              .error() == "401 invalid_totp");
    CHECK(a.post("/api/auth/totp/recovery-codes",
                 {{"password", "wrong"}, {"totp_code", a.code(secret)}})
              .error() == "401 invalid_credentials");
    CHECK(a.post("/api/auth/totp/recovery-codes").error() == stale);
  }
}

TEST_CASE("a proof is valid for ten minutes, in its own session only") {
  Account a;
  const std::string other = a.log_in();
  const auto [secret, codes] = a.enabled();
  a.wait();
  REQUIRE(a.post("/api/auth/totp/recovery-codes", {{"totp_code", a.code(secret)}}).status == 200);
  a.g.world.clock.advance(10min - 1ms);
  CHECK(a.post("/api/auth/totp/recovery-codes").status == 200);
  a.g.world.clock.advance(1ms);
  CHECK(a.post("/api/auth/totp/recovery-codes").error() == stale);
  REQUIRE(a.post("/api/auth/totp/recovery-codes", {{"totp_code", a.code(secret)}}).status == 200);
  a.jwt = other;
  CHECK(a.post("/api/auth/totp/recovery-codes").error() == stale);
}

TEST_CASE("wrong proofs count in the login's throttle") {
  Account a;
  a.g.services.rate_limits = true;
  const auto [secret, codes] = a.enabled();
  a.wait();
  // One network may guess this often for one account; the route's own limit is the same.
  for (int i = 0; i < 5; ++i) {
    CHECK(a.post("/api/auth/totp/recovery-codes", {{"password", "wrong"}}).status == 401);
    CHECK(a.post("/api/auth/totp/enable", {{"code", "1"}, {"password", "wrong"}}).status == 401);
  }
  const auto refused = a.post("/api/auth/totp/recovery-codes", {{"password", password}});
  CHECK(refused.error() == "429 rate_limited");
  CHECK_THAT(refused.body["error"]["message"].get<std::string>(),
             Catch::Contains("too many failed attempts"));
  const json login = {{"email", "ada@example.org"}, {"password", password}};
  CHECK(a.post("/api/auth/login", login).error() == "429 rate_limited");
}

TEST_CASE("changes of security settings are announced by mail") {
  Account a;
  const auto [secret, codes] = a.enabled();
  SECTION("the second factor goes") {
    CHECK(a.post("/api/auth/totp/disable", {{"password", password}, {"code", codes[0]}}).status ==
          200);
    CHECK_THAT(a.newest_mail(), Catch::Contains("no longer requires a second factor"));
  }
  SECTION("the password") {
    const json change = {{"current_password", password}, {"new_password", "staple battery horse"}};
    CHECK(a.post("/api/auth/change-password", change).status == 200);
    CHECK_THAT(a.newest_mail(), Catch::Contains("the password was changed"));
  }
  SECTION("the account") {
    const auto deleted =
        a.g.ask("DELETE", "/api/auth/me", {bearer(a.jwt)}, json{{"password", password}}.dump());
    CHECK(deleted.status == 200);
    CHECK_THAT(a.newest_mail(), Catch::Contains("Your account was deleted"));
  }
}

}  // namespace
