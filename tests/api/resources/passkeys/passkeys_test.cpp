// Passkeys through the API: registering, logging in, proving the second factor, and removing them.
#include "controller/domain/accounts/passkeys.h"

#include <catch2/catch.hpp>

#include "controller/domain/accounts/expiry.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "tests/api/gate_world.h"
#include "tests/passkey.h"
#include "tests/totp.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;
using berth::test::Authenticator;

const std::string password = "correct horse battery";
const std::string stale = "401 insufficient_user_authentication";
const std::string refused = "401 invalid_credentials";

// A user, ada, who has registered and logged in, and has a device for passkeys.
struct Account {
  GateWorld g;
  std::string jwt;
  Authenticator device{"https://api.example.org", "api.example.org"};
  std::vector<Header> cookies;

  Account() {
    const json body = {{"email", "ada@example.org"}, {"username", "ada"}, {"password", password}};
    REQUIRE(ask("POST", "/api/auth/register", body).status == 201);
    jwt = logged_in();
  }
  Answered ask(const std::string& method, const std::string& path, const json& body = nullptr) {
    std::vector<Header> headers = cookies;
    if (!jwt.empty()) headers.push_back(bearer(jwt));
    return g.ask(method, path, headers, body.is_null() ? "" : body.dump());
  }
  Answered post(const std::string& path, const json& body = nullptr) {
    return ask("POST", path, body);
  }
  std::string logged_in() {
    const json body = {{"email", "ada@example.org"}, {"password", password}};
    const auto answer = g.ask("POST", "/api/auth/login", {}, body.dump());
    REQUIRE(answer.status == 200);
    return answer.body["token"];
  }
  json creation_options() {
    const auto answer = post("/api/auth/passkeys/options");
    REQUIRE(answer.status == 200);
    return answer.body;
  }
  json assertion_options() {
    const auto answer = post("/api/auth/login/passkey/options");
    REQUIRE(answer.status == 200);
    return answer.body;
  }
  Answered add(Authenticator& with, const std::string& name = "laptop") {
    const json asked = creation_options();
    return post("/api/auth/passkeys", {{"name", name},
                                       {"state", asked["state"]},
                                       {"credential", with.create(asked["public_key"])}});
  }
  std::string added(Authenticator& with, const std::string& name = "laptop") {
    const auto answer = add(with, name);
    REQUIRE(answer.status == 201);
    return answer.body["passkey"]["id"];
  }
  json answer_of(Authenticator& with) {
    const json asked = assertion_options();
    return {{"state", asked["state"]}, {"credential", with.get(asked["public_key"])}};
  }
  Answered log_in(const json& answer) { return post("/api/auth/login/passkey", answer); }
  Answered log_in(Authenticator& with) { return log_in(answer_of(with)); }
  json me(const std::string& token) {
    return g.ask("GET", "/api/auth/me", {bearer(token)}).body["user"];
  }
  std::string newest_mail() {
    const json mail = g.ask("GET", "/api/internal/outbox", g.admin).body["messages"][0];
    return mail["subject"].get<std::string>() + "\n" + mail["body"].get<std::string>();
  }
  int events(const std::string& kind, const std::string& reason) {
    for (const auto& family : g.registry().Collect())
      for (const auto& metric : family.metric) {
        std::string found;
        for (const auto& label : metric.label) found += label.value + " ";
        if (family.name == "security_events_total" && found == kind + " " + reason + " ")
          return int(metric.counter.value);
      }
    return 0;
  }
};

TEST_CASE("who knows the password alone doesn't give an account with a passkey another address") {
  Account a;
  a.added(a.device);
  a.jwt = a.logged_in();
  const json wanted = {{"new_email", "thief@example.org"}, {"password", password}};
  const std::string before = a.newest_mail();
  CHECK(a.post("/api/auth/email-change", wanted).error() == stale);
  CHECK(a.newest_mail() == before);
  REQUIRE(a.post("/api/auth/step-up", {{"passkey", a.answer_of(a.device)}}).status == 200);
  CHECK(a.post("/api/auth/email-change", wanted).status == 200);
  CHECK(a.newest_mail() != before);
}

TEST_CASE("a passkey is registered, logs in without a name, and is told of by mail") {
  Account a;
  const json asked = a.creation_options()["public_key"];
  CHECK(asked["rp"]["id"] == "api.example.org");
  CHECK(asked["attestation"] == "none");
  CHECK(asked["authenticatorSelection"]["residentKey"] == "required");
  CHECK(asked["authenticatorSelection"]["userVerification"] == "required");
  CHECK(asked["pubKeyCredParams"].size() == 3);
  CHECK(parse_base64url(asked["challenge"].get<std::string>()).value().size() == 32);
  const auto added = a.add(a.device);
  REQUIRE(added.status == 201);
  CHECK(added.body["passkey"]["name"] == "laptop");
  CHECK(added.body["passkey"]["last_used_at"].is_null());
  CHECK_THAT(a.newest_mail(), Catch::Contains("a passkey was added to your account") &&
                                  Catch::Contains("name: laptop") &&
                                  Catch::Contains("/account/passkeys"));
  CHECK(a.events("second_factor_changed", "passkey_added") == 1);
  CHECK(a.me(a.jwt)["second_factor"] == true);
  CHECK(a.me(a.jwt)["totp_enabled"] == false);
  // The device has the passkey already.
  const json again = a.creation_options()["public_key"]["excludeCredentials"];
  REQUIRE(again.size() == 1);
  CHECK(again[0]["id"] == base64url(a.device.id));

  a.g.world.clock.advance(1h);
  a.jwt = "";
  const auto login = a.log_in(a.device);
  REQUIRE(login.status == 200);
  CHECK(login.body["user"]["username"] == "ada");
  CHECK(a.me(login.body["token"])["username"] == "ada");
  CHECK(a.events("login_from_new_network", "passkey") + a.events("login_succeeded", "passkey") ==
        1);
  a.jwt = login.body["token"];
  CHECK(a.ask("GET", "/api/auth/passkeys").body["passkeys"][0]["last_used_at"] ==
        to_iso8601(a.g.world.clock.now()));
}

TEST_CASE("an answer works once, for five minutes, and for the browser that asked") {
  Account a;
  a.added(a.device);
  SECTION("once") {
    const json answer = a.answer_of(a.device);
    CHECK(a.log_in(answer).status == 200);
    CHECK(a.log_in(answer).error() == refused);
    CHECK(a.events("login_failed", "replayed_passkey") == 1);
    // With another signature over the same challenge, too.
    json other = answer;
    const std::string challenge = json::parse(
        parse_base64url(answer["credential"]["response"]["clientDataJSON"].get<std::string>())
            .value())["challenge"];
    other["credential"] = a.device.get({{"challenge", challenge}});
    CHECK(a.log_in(other).error() == refused);
  }
  SECTION("five minutes") {
    const json in_time = a.answer_of(a.device), late = a.answer_of(a.device);
    a.g.world.clock.advance(passkeys::challenge_lifetime - 1ms);
    CHECK(a.log_in(in_time).status == 200);
    a.g.world.clock.advance(1ms);
    CHECK(a.log_in(late).error() == refused);
    CHECK(a.events("login_failed", "old_passkey_challenge") == 1);
  }
  SECTION("one browser") {
    a.cookies = {{"Cookie", "__Host-berth_form=one"}};
    const json answer = a.answer_of(a.device);
    a.cookies = {{"Cookie", "__Host-berth_form=other"}};
    CHECK(a.log_in(answer).error() == refused);
    a.cookies = {};
    CHECK(a.log_in(answer).error() == refused);
    a.cookies = {{"Cookie", "__Host-berth_form=one"}};
    CHECK(a.log_in(answer).status == 200);
  }
  SECTION("its own challenge") {
    json answer = a.answer_of(a.device);
    answer["state"] = a.assertion_options()["state"];
    CHECK(a.log_in(answer).error() == refused);
    answer["state"] = a.creation_options()["state"];
    CHECK(a.log_in(answer).error() == refused);
    answer["state"] = "";
    CHECK(a.log_in(answer).error() == refused);
  }
  SECTION("rows of used challenges are removed") {
    CHECK(a.log_in(a.device).status == 200);
    const auto rows = [&] {
      return a.g.world.read(
          [](db::Tx& tx) { return tx.number("SELECT count(*) FROM used_passkey_challenges"); });
    };
    CHECK(rows() == 2);  // of the registration, and of the login
    a.g.world.clock.advance(passkeys::challenge_lifetime);
    CHECK(a.g.world.read([](db::Tx& tx) { return accounts::is_any_old(tx); }));
    a.g.world.write([](db::Tx& tx) { accounts::remove_old(tx, 100); });
    CHECK(rows() == 0);
  }
}

TEST_CASE("strangers' passkeys, wrong sites and copies don't log in") {
  Account a;
  a.added(a.device);
  SECTION("a passkey that nobody has registered") {
    Authenticator other("https://api.example.org", "api.example.org");
    other.user_handle = a.device.user_handle;
    CHECK(a.log_in(other).error() == refused);
    other.id = a.device.id;
    CHECK(a.log_in(other).error() == refused);
    CHECK(a.events("login_failed", "unknown_passkey") == 1);
    CHECK(a.events("login_failed", "wrong_passkey") == 1);
  }
  SECTION("another site") {
    a.device.origin = "https://evil.example.org";
    CHECK(a.log_in(a.device).error() == refused);
    a.device.origin = "https://api.example.org";
    a.device.rp_id = "evil.example.org";
    CHECK(a.log_in(a.device).error() == refused);
  }
  SECTION("no verification of the user") {
    a.device.flags = Authenticator::present;
    CHECK(a.log_in(a.device).error() == refused);
  }
  SECTION("another user's handle, or none") {
    const std::string own = a.device.user_handle;
    a.device.user_handle = std::string(own.rbegin(), own.rend());
    CHECK(a.log_in(a.device).error() == refused);
    a.device.user_handle = "";
    CHECK(a.log_in(a.device).error() == refused);
    a.device.user_handle = own;
    CHECK(a.log_in(a.device).status == 200);
  }
  SECTION("a copy, whose count goes back or stands still") {
    a.device.sign_count = 41;
    CHECK(a.log_in(a.device).status == 200);  // 42
    a.device.sign_count = 41;
    CHECK(a.log_in(a.device).error() == refused);
    a.device.sign_count = 9;
    CHECK(a.log_in(a.device).error() == refused);
    CHECK(a.events("login_failed", "cloned_passkey") == 2);
    a.device.sign_count = 42;
    CHECK(a.log_in(a.device).status == 200);
  }
  SECTION("an authenticator without a count") {
    a.device.sign_count = UINT32_MAX;  // goes on to 0
    CHECK(a.log_in(a.device).status == 200);
    a.device.sign_count = UINT32_MAX;
    CHECK(a.log_in(a.device).status == 200);
  }
  SECTION("what isn't an answer at all") {
    const json asked = a.assertion_options();
    for (const json& credential :
         {json::object(), json{{"id", "x"}}, json{{"id", 1}, {"response", json::object()}},
          json{{"id", "!"}, {"response", {{"clientDataJSON", "e30"}}}},
          json{{"id", "e30"}, {"response", nullptr}}, json{{"id", "e30"}, {"response", "e30"}}})
      CHECK(a.log_in({{"state", asked["state"]}, {"credential", credential}}).error() ==
            "422 validation_failed");
    CHECK(a.log_in(json{{"state", asked["state"]}, {"credential", "text"}}).error() ==
          "422 validation_failed");
  }
  SECTION("a suspended account") {
    const auto user = a.g.world.find_user(a.me(a.jwt)["id"]);
    a.g.world.write([&](db::Tx& tx) { accounts::suspend(tx, user.id, "root", a.g.world.keys); });
    CHECK(a.log_in(a.device).error() == "403 account_suspended");
  }
}

TEST_CASE("guesses are slowed down as those of passwords are") {
  Account a;
  a.added(a.device);
  a.g.services.rate_limits = true;
  a.device.origin = "https://evil.example.org";
  int wrong = 0;
  for (int i = 0; i < 15; ++i) {
    // The operation's own limit counts as well, for the network.
    const json asked = {{"state", "e30="}, {"credential", a.device.get({{"challenge", "e30"}})}};
    if (a.log_in(asked).error() == refused) ++wrong;
  }
  CHECK(wrong == LoginThrottle::account_from_network.limit);
  CHECK(a.events("login_throttled", "password") > 0);
}

TEST_CASE("a registration needs a fresh proof, an own challenge and a name") {
  Account a;
  SECTION("a fresh proof") {
    a.g.world.clock.advance(10min);
    CHECK(a.post("/api/auth/passkeys/options").error() == stale);
    CHECK(a.post("/api/auth/passkeys/options", {{"password", "wrong"}}).error() == refused);
    CHECK(a.post("/api/auth/passkeys/options", {{"password", password}}).status == 200);
    CHECK(a.add(a.device).status == 201);
  }
  SECTION("the proof is still fresh when the answer comes") {
    const json asked = a.creation_options();
    a.g.world.clock.advance(10min);
    CHECK(a.post("/api/auth/passkeys", {{"name", "laptop"},
                                        {"state", asked["state"]},
                                        {"credential", a.device.create(asked["public_key"])}})
              .error() == stale);
  }
  SECTION("the challenge of this session") {
    const json asked = a.creation_options();
    a.jwt = a.logged_in();
    CHECK(a.post("/api/auth/passkeys", {{"name", "laptop"},
                                        {"state", asked["state"]},
                                        {"credential", a.device.create(asked["public_key"])}})
              .error() == "422 validation_failed");
  }
  SECTION("a challenge that wasn't used, and a passkey that isn't registered") {
    const json asked = a.creation_options();
    const json body = {{"name", "laptop"},
                       {"state", asked["state"]},
                       {"credential", a.device.create(asked["public_key"])}};
    CHECK(a.post("/api/auth/passkeys", body).status == 201);
    CHECK(a.post("/api/auth/passkeys", body).error() == "422 validation_failed");
    CHECK(a.add(a.device).error() == "422 validation_failed");
  }
  SECTION("a name that may be shown") {
    const json asked = a.creation_options();
    for (const std::string& name :
         {std::string(), std::string("  "), std::string("a\nb"), std::string(65, 'x')})
      CHECK(a.post("/api/auth/passkeys", {{"name", name},
                                          {"state", asked["state"]},
                                          {"credential", a.device.create(asked["public_key"])}})
                .error() == "422 validation_failed");
  }
}

TEST_CASE("an account has a limited number of passkeys") {
  Account a;
  for (int i = 0; i < passkeys::max_per_account; ++i) {
    Authenticator device("https://api.example.org", "api.example.org");
    a.added(device, "device " + std::to_string(i));
    if (i % 5 != 4) continue;
    a.g.world.clock.advance(24h);  // what an account without a verified address stores in a day
    a.jwt = a.log_in(device).body["token"];
  }
  CHECK(a.post("/api/auth/passkeys/options").error() == "409 invalid_state");
  CHECK(a.ask("GET", "/api/auth/passkeys").body["passkeys"].size() ==
        size_t(passkeys::max_per_account));
}

TEST_CASE("passkeys are renamed and removed by their user alone") {
  Account a;
  const std::string id = a.added(a.device);
  const std::string path = "/api/auth/passkeys/" + id;
  CHECK(a.ask("PATCH", path, {{"name", "old laptop"}}).body["passkey"]["name"] == "old laptop");
  CHECK(a.ask("PATCH", path, {{"name", " "}}).error() == "422 validation_failed");
  const accounts::User eve = a.g.world.verified_user("eve");
  const std::string of_ada = a.jwt;
  a.jwt = a.g.world.jwt(eve);
  CHECK(a.ask("PATCH", path, {{"name", "mine"}}).error() == "404 passkey_not_found");
  CHECK(a.ask("DELETE", path, {{"last", true}}).error() == "404 passkey_not_found");
  CHECK(a.ask("GET", "/api/auth/passkeys").body["passkeys"].empty());
  a.jwt = of_ada;

  // The only second factor doesn't go by accident.
  CHECK(a.ask("DELETE", path).error() == "409 invalid_state");
  Authenticator other("https://api.example.org", "api.example.org");
  const std::string second = a.added(other, "telephone");
  CHECK(a.ask("DELETE", "/api/auth/passkeys/" + second).status == 200);
  CHECK_THAT(a.newest_mail(), Catch::Contains("a passkey was removed from your account") &&
                                  Catch::Contains("telephone"));
  CHECK(a.log_in(other).error() == refused);
  a.g.world.clock.advance(10min);
  CHECK(a.ask("DELETE", path, {{"last", true}}).error() == stale);
  // The password alone doesn't remove a second factor.
  CHECK(a.ask("DELETE", path, {{"last", true}, {"password", password}}).error() == stale);
  json proof = {{"passkey", a.answer_of(a.device)}};
  CHECK(a.post("/api/auth/step-up", proof).status == 200);
  CHECK(a.ask("DELETE", path, {{"last", true}}).status == 200);
  CHECK(a.me(a.jwt)["second_factor"] == false);
  CHECK(a.events("second_factor_changed", "passkey_removed") == 2);
}

TEST_CASE("an admin proves the second factor by a passkey") {
  Account a;
  const std::string id = a.me(a.jwt)["id"];
  a.g.world.write(
      [&](db::Tx& tx) { accounts::promote(tx, id, {.tier = {}, .is_admin = true}, "root"); });
  const auto as_admin = [&] {
    return a.g
        .ask("GET", "/api/internal/users",
             {{"Cookie", "__Host-berth_session=" + a.jwt},
              {"Sec-Fetch-Site", "same-origin"},
              {"Berth-Console", "1"}})
        .status;
  };
  CHECK(as_admin() == 403);
  a.added(a.device);
  CHECK(as_admin() == 200);
  a.jwt = a.logged_in();  // by the password alone
  CHECK(as_admin() == 403);
  // Who knows only the password adds no second factor of their own.
  CHECK(a.post("/api/auth/passkeys/options", {{"password", password}}).error() == stale);
  const std::string secret = a.post("/api/auth/totp/setup").body["secret"];
  const std::string code = berth::test::totp(secret, to_millis(a.g.world.clock.now()) / 1000);
  CHECK(a.post("/api/auth/totp/enable", {{"code", code}, {"password", password}}).error() == stale);
  Authenticator other("https://api.example.org", "api.example.org");
  other.user_handle = a.device.user_handle;
  CHECK(a.post("/api/auth/step-up", {{"passkey", a.answer_of(other)}}).error() == refused);
  CHECK(a.events("second_factor_failed", "unknown_passkey") == 1);
  CHECK(as_admin() == 403);
  CHECK(a.post("/api/auth/step-up", {{"passkey", a.answer_of(a.device)}}).status == 200);
  CHECK(as_admin() == 200);
  CHECK(a.post("/api/auth/totp/enable", {{"code", code}}).status == 200);
  // Turning TOTP off leaves the passkeys alone.
  a.g.world.clock.advance(1min);
  const std::string next = berth::test::totp(secret, to_millis(a.g.world.clock.now()) / 1000);
  CHECK(a.post("/api/auth/totp/disable", {{"code", next}, {"password", password}}).status == 200);
  CHECK(a.me(a.jwt)["second_factor"] == true);
}

TEST_CASE("a passkey takes the place of password and code where TOTP is enabled") {
  Account a;
  a.added(a.device);
  const std::string secret = a.post("/api/auth/totp/setup").body["secret"];
  const std::string code = berth::test::totp(secret, to_millis(a.g.world.clock.now()) / 1000);
  REQUIRE(a.post("/api/auth/totp/enable", {{"code", code}}).status == 200);
  a.jwt = "";
  const json body = {{"email", "ada@example.org"}, {"password", password}};
  CHECK(a.post("/api/auth/login", body).error() == "401 totp_required");
  CHECK(a.log_in(a.device).status == 200);
}

TEST_CASE("the mail about a new password lists the passkeys, which go on") {
  Account a;
  a.added(a.device, "not mine");
  CHECK(a.post("/api/auth/change-password",
               {{"current_password", password}, {"new_password", "another horse battery"}})
            .status == 200);
  CHECK_THAT(a.newest_mail(),
             Catch::Contains("Your passkeys still log in") && Catch::Contains("not mine"));
  CHECK(a.log_in(a.device).status == 200);
}

TEST_CASE("passkeys go with their account") {
  Account a;
  a.added(a.device);
  CHECK(a.ask("DELETE", "/api/auth/me", {{"password", password}}).status == 200);
  CHECK(a.g.world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM passkeys"); }) == 0);
  a.jwt = "";
  CHECK(a.log_in(a.device).error() == refused);
}

TEST_CASE("a platform at an address without a name has no passkeys") {
  Account a;
  a.g.services.base_url = "https://192.0.2.1";
  CHECK(a.post("/api/auth/passkeys/options").error() == "409 invalid_state");
  CHECK(a.post("/api/auth/login/passkey/options").error() == "409 invalid_state");
}

}  // namespace
