// Accounts over the API.
#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"
#include "tests/totp.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

const std::string password = "correct horse battery";

struct Fixture {
  GateWorld g;

  Answered post(const std::string& path, const json& body, const std::string& jwt = {}) {
    return g.ask("POST", path, jwt.empty() ? std::vector<Header>{} : std::vector{bearer(jwt)},
                 body.is_null() ? "" : body.dump());
  }
  void register_user(const std::string& name) {
    const auto answer =
        post("/api/auth/register",
             {{"email", name + "@example.org"}, {"username", name}, {"password", password}});
    REQUIRE(answer.status == 201);
  }
  Answered try_login(const std::string& name, const std::string& with = password,
                     const json& more = json::object()) {
    json body = {{"email", name + "@example.org"}, {"password", with}};
    body.update(more);
    return post("/api/auth/login", body);
  }
  std::string log_in(const std::string& name, const json& more = json::object()) {
    const auto answer = try_login(name, password, more);
    REQUIRE(answer.status == 200);
    return answer.body["token"];
  }
  Answered me(const std::string& jwt) { return g.ask("GET", "/api/auth/me", {bearer(jwt)}); }
  std::string mailed_token(const std::string& prefix) {
    const auto mails = g.ask("GET", "/api/internal/outbox", g.admin).body["messages"];
    for (const json& mail : mails)
      if (mail["token"].get<std::string>().starts_with(prefix)) return mail["token"];
    return "";
  }
  std::string code(const std::string& secret) {
    return berth::test::totp(secret, to_millis(g.world.clock.now()) / 1000);
  }
  // Turns TOTP on. Returns the secret and the recovery codes.
  std::pair<std::string, std::vector<std::string>> enable_totp(const std::string& jwt) {
    const std::string secret = post("/api/auth/totp/setup", nullptr, jwt).body["secret"];
    const auto enabled = post("/api/auth/totp/enable", {{"code", code(secret)}}, jwt);
    REQUIRE(enabled.status == 200);
    g.world.clock.advance(60s);
    return {secret, enabled.body["recovery_codes"]};
  }
};

TEST_CASE("logging out ends the session, and no other") {
  Fixture f;
  f.register_user("ada");
  const std::string here = f.log_in("ada"), there = f.log_in("ada");
  CHECK(f.post("/api/auth/logout", nullptr, here).status == 200);
  CHECK(f.me(here).error() == "401 token_revoked");
  CHECK(f.me(there).status == 200);
}

TEST_CASE("sessions are listed with the one that asks, and ended one by one") {
  Fixture f;
  f.register_user("ada");
  f.register_user("bob");
  const std::string here = f.log_in("ada"), there = f.log_in("ada"), bob = f.log_in("bob");
  const auto list = f.g.ask("GET", "/api/auth/sessions", {bearer(here)}).body;
  REQUIRE(list["total"] == 2);
  CHECK(list["sessions"][0]["current"] == false);
  CHECK(list["sessions"][1]["current"] == true);
  const std::string path = "/api/auth/sessions/" + list["sessions"][0]["id"].get<std::string>();
  CHECK(f.g.ask("DELETE", path, {bearer(bob)}).error() == "404 session_not_found");
  CHECK(f.me(there).status == 200);
  CHECK(f.g.ask("DELETE", path, {bearer(here)}).status == 200);
  CHECK(f.me(there).error() == "401 token_revoked");
  CHECK(f.g.ask("DELETE", "/api/auth/sessions/x", {bearer(here)}).status == 404);
}

TEST_CASE("changing the password requires it, and ends the other sessions") {
  Fixture f;
  f.register_user("ada");
  const std::string here = f.log_in("ada"), there = f.log_in("ada");
  const auto change = [&](const std::string& current, const std::string& fresh) {
    return f.post("/api/auth/change-password",
                  {{"current_password", current}, {"new_password", fresh}}, here);
  };
  CHECK(change("wrong", "staple battery horse").error() == "401 invalid_credentials");
  const auto common = change(password, "password123");
  CHECK(common.error() == "422 validation_failed");
  CHECK(common.body["error"]["details"].contains("new_password"));
  CHECK(change(password, "staple battery horse").status == 200);
  CHECK(f.me(here).status == 200);
  CHECK(f.me(there).error() == "401 token_revoked");
  CHECK(f.try_login("ada").error() == "401 invalid_credentials");
  CHECK(f.try_login("ada", "staple battery horse").status == 200);
}

TEST_CASE("a password works in whichever way a keyboard sends its letters") {
  Fixture f;
  const std::string composed = "gr\xC3\xBC\xC3\x9F vom See", apart = "gru\xCC\x88\xC3\x9F vom See";
  f.register_user("ada");
  f.g.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE users SET password_hash = $1", f.g.passwords.hash(composed));
  });
  CHECK(f.try_login("ada", apart).status == 200);
  CHECK(f.try_login("ada", composed).status == 200);
  const std::string jwt = f.g.world.jwt(f.g.world.read([](db::Tx& tx) {
    return *accounts::find(tx, accounts::credentials(tx, "ada@example.org")->user_id);
  }));
  const std::string fresh =
      "u\xCC\x88"
      "ber die See fahren";
  CHECK(f.post("/api/auth/change-password", {{"current_password", apart}, {"new_password", fresh}},
               jwt)
            .status == 200);
  CHECK(f.try_login("ada",
                    "\xC3\xBC"
                    "ber die See fahren")
            .status == 200);
}

TEST_CASE("a change of the password keeps the other sessions if it says so") {
  Fixture f;
  f.register_user("ada");
  const std::string here = f.log_in("ada"), there = f.log_in("ada");
  const auto change = [&](const json& end_others) {
    return f.post("/api/auth/change-password",
                  {{"current_password", password},
                   {"new_password", "staple battery horse"},
                   {"end_others", end_others}},
                  here);
  };
  CHECK(change("no").error() == "422 validation_failed");
  CHECK(change(false).status == 200);
  CHECK(f.me(there).status == 200);
  CHECK(f.try_login("ada").error() == "401 invalid_credentials");
}

TEST_CASE("a forgotten password is reset by mail") {
  Fixture f;
  f.register_user("ada");
  const std::string jwt = f.log_in("ada");
  CHECK(f.post("/api/auth/forgot-password", {{"email", "Ada@example.org"}}).status == 200);
  const std::string token = f.mailed_token("pr_");
  const auto reset = [&](const std::string& fresh) {
    return f.post("/api/auth/reset-password", {{"token", token}, {"password", fresh}});
  };
  CHECK(reset("qwertyuiop").error() == "422 validation_failed");
  CHECK(reset("staple battery horse").status == 200);
  CHECK(reset("staple battery mule").error() == "422 validation_failed");
  CHECK(f.me(jwt).error() == "401 token_revoked");
  CHECK(f.try_login("ada", "staple battery horse").status == 200);
}

TEST_CASE("user enumeration: the same answers for addresses that exist and that don't") {
  Fixture f;
  f.register_user("ada");
  f.log_in("ada");
  const auto same = [&](const std::string& path, json body) {
    body["email"] = "ada@example.org";
    const auto known = f.post(path, body);
    body["email"] = "nobody@example.org";
    const auto unknown = f.post(path, body);
    INFO(path);
    CHECK(known.status == unknown.status);
    CHECK(known.text == unknown.text);
    auto names = [](const Answered& answer) {
      std::vector<std::string> all;
      for (const auto& [name, value] : answer.headers) all.push_back(name);
      return all;
    };
    CHECK(names(known) == names(unknown));
  };
  same("/api/auth/login", {{"password", "wrong horse battery"}});
  same("/api/auth/login", {{"password", "wrong horse battery"}, {"totp_code", "123456"}});
  for (int i = 0; i < 5; ++i) same("/api/auth/forgot-password", json::object());
  // The answer also doesn't tell that an account is suspended or has a second factor.
  f.enable_totp(f.log_in("ada"));
  same("/api/auth/login", {{"password", "wrong horse battery"}});
  f.g.world.write([](db::Tx& tx) { tx.execute("UPDATE users SET suspended_at = 1"); });
  same("/api/auth/login", {{"password", "wrong horse battery"}});
  same("/api/auth/forgot-password", json::object());
}

TEST_CASE("with a second factor, a password alone doesn't log anybody in") {
  Fixture f;
  f.register_user("ada");
  const auto [secret, recovery] = f.enable_totp(f.log_in("ada"));
  CHECK(f.try_login("ada").error() == "401 totp_required");
  CHECK(f.try_login("ada", password, {{"totp_code", ""}}).error() == "401 totp_required");
  CHECK(f.try_login("ada", password, {{"totp_code", "000000"}}).error() == "401 invalid_totp");
  CHECK(f.try_login("ada", "wrong horse battery", {{"totp_code", f.code(secret)}}).error() ==
        "401 invalid_credentials");
  const std::string used = f.code(secret);
  const std::string jwt = f.log_in("ada", {{"totp_code", used}});
  CHECK(f.me(jwt).body["user"]["totp_enabled"] == true);
  CHECK(f.try_login("ada", password, {{"totp_code", used}}).error() == "401 invalid_totp");
  f.log_in("ada", {{"totp_code", recovery[0]}});
  CHECK(f.try_login("ada", password, {{"totp_code", recovery[0]}}).error() == "401 invalid_totp");
  f.g.world.clock.advance(60s);
  const auto disable = [&](const std::string& with) {
    return f.post("/api/auth/totp/disable", {{"password", with}, {"code", f.code(secret)}}, jwt);
  };
  CHECK(disable("wrong").error() == "401 invalid_credentials");
  CHECK(disable(password).status == 200);
  f.log_in("ada");
}

TEST_CASE("a failed login doesn't use up a code") {
  Fixture f;
  f.register_user("ada");
  const auto [secret, recovery] = f.enable_totp(f.log_in("ada"));
  f.g.world.write([](db::Tx& tx) { tx.execute("UPDATE users SET suspended_at = 1"); });
  CHECK(f.try_login("ada", password, {{"totp_code", recovery[0]}}).error() ==
        "403 account_suspended");
  f.g.world.write([](db::Tx& tx) { tx.execute("UPDATE users SET suspended_at = NULL"); });
  f.log_in("ada", {{"totp_code", recovery[0]}});
}

TEST_CASE("recovery codes can be replaced") {
  Fixture f;
  f.register_user("ada");
  const std::string jwt = f.log_in("ada");
  CHECK(f.post("/api/auth/totp/recovery-codes", nullptr, jwt).error() == "409 invalid_state");
  const auto [secret, old_codes] = f.enable_totp(jwt);
  const auto fresh = f.post("/api/auth/totp/recovery-codes", nullptr, jwt);
  CHECK(fresh.body["recovery_codes"].size() == 10);
  CHECK(f.try_login("ada", password, {{"totp_code", old_codes[0]}}).error() == "401 invalid_totp");
  f.log_in("ada", {{"totp_code", fresh.body["recovery_codes"][0]}});
}

TEST_CASE("password guessing is slowed down without locking the victim out") {
  Fixture f;
  f.g.services.rate_limits = true;
  f.register_user("ada");
  f.g.remote_address = "203.0.113.5";
  for (int i = 0; i < 10; ++i)
    CHECK(f.try_login("ada", "wrong horse " + std::to_string(i)).error() ==
          "401 invalid_credentials");
  const auto held_off = f.try_login("ada");
  CHECK(held_off.error() == "429 rate_limited");
  CHECK(std::stoi(held_off.header("Retry-After")) > 60);
  // An address that no account has is treated in the same way.
  for (int i = 0; i < 10; ++i) {
    f.g.remote_address = "203.0.113.6";
    CHECK(f.try_login("nobody").status == 401);
  }
  CHECK(f.try_login("nobody").error() == "429 rate_limited");
  f.g.remote_address = "192.0.2.1";
  CHECK(f.try_login("ada").status == 200);
}

TEST_CASE("confirming the password is throttled like a login") {
  Fixture f;
  f.g.services.rate_limits = true;
  f.register_user("ada");
  const std::string jwt = f.log_in("ada");
  for (int i = 0; i < 10; ++i)
    CHECK(f.g.ask("DELETE", "/api/auth/me", {bearer(jwt)}, R"({"password": "wrong"})").status ==
          401);
  CHECK(f.g.ask("DELETE", "/api/auth/me", {bearer(jwt)}, json{{"password", password}}.dump())
            .status == 429);
}

TEST_CASE("codes can't be guessed faster at turning the second factor off than at login") {
  Fixture f;
  f.register_user("ada");
  const std::string jwt = f.log_in("ada");
  const auto [secret, recovery] = f.enable_totp(jwt);
  f.g.services.rate_limits = true;
  const auto disable = [&](const std::string& code) {
    return f.post("/api/auth/totp/disable", {{"password", password}, {"code", code}}, jwt);
  };
  for (int i = 0; i < 9; ++i) CHECK(disable("000000").error() == "401 invalid_totp");
  CHECK(f.try_login("ada", password, {{"totp_code", "000000"}}).error() == "401 invalid_totp");
  const auto refused = f.try_login("ada", password, {{"totp_code", recovery[0]}});
  CHECK(refused.error() == "429 rate_limited");
  CHECK(refused.has("Retry-After"));
}

TEST_CASE("a right code that turns the second factor off doesn't count as a failure") {
  Fixture f;
  f.register_user("ada");
  const std::string jwt = f.log_in("ada");
  f.g.services.rate_limits = true;
  for (int i = 0; i < 2; ++i) {
    const auto [secret, recovery] = f.enable_totp(jwt);
    const json wrong = {{"password", password}, {"code", "000000"}};
    const json right = {{"password", password}, {"code", recovery[0]}};
    CHECK(f.post("/api/auth/totp/disable", wrong, jwt).error() == "401 invalid_totp");
    CHECK(f.post("/api/auth/totp/disable", right, jwt).status == 200);
  }
  for (int i = 0; i < 8; ++i)
    CHECK(f.try_login("ada", "wrong horse battery").error() == "401 invalid_credentials");
  CHECK(f.try_login("ada").error() == "429 rate_limited");
}

TEST_CASE("an account is renamed and deleted by its owner") {
  Fixture f;
  f.register_user("ada");
  f.register_user("bob");
  const std::string jwt = f.log_in("ada");
  const auto rename = [&](const std::string& name) {
    return f.g.ask("PATCH", "/api/auth/me", {bearer(jwt)}, json{{"username", name}}.dump());
  };
  CHECK(rename("bob").error() == "422 validation_failed");
  CHECK(rename("b@b").error() == "422 validation_failed");
  CHECK(rename("countess").body["user"]["username"] == "countess");
  const auto erase = [&](const std::string& with) {
    return f.g.ask("DELETE", "/api/auth/me", {bearer(jwt)}, json{{"password", with}}.dump());
  };
  CHECK(erase("wrong").error() == "401 invalid_credentials");
  CHECK(erase(password).status == 200);
  CHECK(f.me(jwt).error() == "401 token_revoked");
  CHECK(f.try_login("ada").error() == "401 invalid_credentials");
  // The address is free at once; both names stay reserved for 90 days.
  const auto again = [&](const std::string& name) {
    return f.post("/api/auth/register",
                  {{"email", "ada@example.org"}, {"username", name}, {"password", password}});
  };
  CHECK(again("ada").error() == "422 validation_failed");
  CHECK(again("Countess").error() == "422 validation_failed");
  CHECK(again("lovelace").status == 201);
}

TEST_CASE("a verification mail can be requested again, five times an hour") {
  Fixture f;
  f.register_user("ada");
  const std::string jwt = f.log_in("ada");
  for (int i = 0; i < 4; ++i)
    CHECK(f.post("/api/auth/resend-verification", nullptr, jwt).status == 200);
  f.g.world.clock.advance(10min);
  const auto refused = f.post("/api/auth/resend-verification", nullptr, jwt);
  CHECK(refused.error() == "429 rate_limited");
  CHECK(refused.header("Retry-After") == "3000");
  CHECK(f.post("/api/auth/verify-email", {{"token", f.mailed_token("ev_")}}).status == 200);
  CHECK(f.post("/api/auth/resend-verification", nullptr, jwt).error() == "409 invalid_state");
}

TEST_CASE("admins see, promote, suspend and reactivate users") {
  Fixture f;
  f.register_user("ada");
  const std::string jwt = f.log_in("ada");
  const auto list = f.g.ask("GET", "/api/internal/users?q=ADA", f.g.admin).body;
  REQUIRE(list["total"] == 1);
  const std::string path = "/api/internal/users/" + list["users"][0]["id"].get<std::string>();
  const auto promote = [&](const json& body) {
    return f.g.ask("POST", path + "/promote", f.g.admin, body.dump());
  };
  CHECK(promote({{"tier", "basic"}}).body["user"]["tier"] == "basic");
  CHECK(f.me(jwt).body["user"]["is_admin"] == false);
  CHECK(promote({{"is_admin", true}}).body["user"]["is_admin"] == true);
  CHECK(f.me(jwt).body["user"]["is_admin"] == true);
  CHECK(promote({{"tier", "gold"}}).error() == "404 tier_not_found");
  CHECK(promote(json::object()).error() == "422 validation_failed");
  CHECK(f.g.ask("POST", path + "/suspend", f.g.admin).body["user"]["suspended"] == true);
  CHECK(f.me(jwt).error() == "403 account_suspended");
  CHECK(f.try_login("ada").error() == "403 account_suspended");
  CHECK(f.g.ask("POST", path + "/reactivate", f.g.admin).body["user"]["suspended"] == false);
  CHECK(f.me(jwt).error() == "401 token_revoked");
  CHECK(f.me(f.log_in("ada")).body["user"]["tier"] == "basic");
  CHECK(f.g.ask("POST", "/api/internal/users/nobody/suspend", f.g.admin).status == 404);
  CHECK(f.g.ask("GET", "/api/internal/users").status == 403);
}

TEST_CASE("rotating the session key logs nobody out") {
  Fixture f;
  f.register_user("ada");
  const std::string before = f.log_in("ada");
  const auto rotated = f.g.ask("POST", "/api/internal/session-keys/rotate", f.g.admin);
  REQUIRE(rotated.status == 200);
  const std::string after = f.log_in("ada");
  // The key id (kid).
  CHECK(before.substr(0, before.find('.')) != after.substr(0, after.find('.')));
  CHECK(f.me(before).status == 200);
  CHECK(f.me(after).status == 200);
  // A key is dropped after the last session that it signed is over.
  f.g.world.clock.advance(24h);
  f.g.ask("POST", "/api/internal/session-keys/rotate", f.g.admin);
  CHECK(f.g.world.keys.session.all()->size() == 2);
}

TEST_CASE("an app with profile:read reads the user's profile and nothing else") {
  Operator o;
  const auto player = o.g.world.verified_user("bob");
  const auto profile =
      o.g.ask("GET", "/api/external/profile",
              {bearer(o.g.world.tokens(o.app, player, "profile:read").access_token)});
  REQUIRE(profile.status == 200);
  const json& user = profile.body["user"];
  CHECK(user["id"] == player.id);
  CHECK(user["username"] == "bob");
  CHECK(user["tier"] == "free");
  CHECK(user["tier_emoji"] == "🌱");
  CHECK(user["created_at"] == to_iso8601(player.created_at));
  CHECK(user["avatar"].is_null());
  CHECK(user["friendship_status"].is_null());
  CHECK(profile.text.find("@") == std::string::npos);
  const auto other = o.g.world.tokens(o.app, player, "points:read").access_token;
  CHECK(o.g.ask("GET", "/api/external/profile", {bearer(other)}).error() ==
        "403 insufficient_scope");
  CHECK(o.g.ask("GET", "/api/external/profile", {bearer(o.g.world.jwt(player))}).error() ==
        "401 wrong_token_type");
}

TEST_CASE("reserved names are refused by field, at registration and as a new name") {
  Fixture f;
  f.g.services.rules.reserved_names = ReservedNames({"admin", "support"});
  for (const char* name : {"admin", "Adm1n", "SUPPORT"}) {
    INFO(name);
    const auto refused =
        f.post("/api/auth/register",
               {{"email", "eve@example.org"}, {"username", name}, {"password", password}});
    CHECK(refused.error() == "422 validation_failed");
    CHECK(refused.body["error"]["details"]["username"][0].get<std::string>().find("reserved") !=
          std::string::npos);
  }
  f.register_user("ada");
  const std::string jwt = f.log_in("ada");
  const auto rename = [&](const std::string& name) {
    return f.g.ask("PATCH", "/api/auth/me", {bearer(jwt)}, json{{"username", name}}.dump());
  };
  CHECK(rename("admin").error() == "422 validation_failed");
  CHECK(rename("countess").status == 200);
}

}  // namespace
