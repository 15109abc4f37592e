// Authorization codes, and exchanging them.
#include "controller/domain/oauth/oauth.h"

#include <catch2/catch.hpp>

#include "controller/domain/kernel/audit.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  accounts::User bob = world.verified_user("bob");
  apps::App app = world.approved_app(ada, {Scope::points_spend, Scope::deploy_manage});

  std::string authorize(const accounts::User& user, const oauth::AuthorizationRequest& request) {
    return refusal([&] { world.write([&](db::Tx& tx) { authorized(tx, user, request); }); });
  }
  std::string check(const std::string& token) {
    return refusal([&] { world.check(token); });
  }
  std::string reason(const std::string& token) {
    return world.read([&](db::Tx& tx) {
      const auto seen = oauth::introspect(tx, token);
      return std::string(seen.active ? "active" : to_string(seen.reason));
    });
  }
};

TEST_CASE("a code is exchanged for tokens of the user with the scopes that they granted") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob, "points:spend+profile:read");
  CHECK(tokens.access_token.starts_with("at_live_"));
  CHECK(tokens.refresh_token.starts_with("rt_live_"));
  CHECK(tokens.session_token->starts_with("st_live_"));
  CHECK(tokens.session_token_expires_at == f.world.clock.now() + oauth::session_token_lifetime);
  CHECK(tokens.user_id == f.bob.id);
  const auto caller = f.world.check(tokens.access_token);
  CHECK(caller.user_id == f.bob.id);
  CHECK(caller.app_id == f.app.id);
  CHECK(caller.scopes == ScopeSet{Scope::profile_read, Scope::points_spend});
  CHECK(caller.expires_at == f.world.clock.now() + 3600s);
}

TEST_CASE("codes and tokens aren't stored themselves") {
  Fixture f;
  const std::string code = f.world.authorize(f.app, f.bob);
  const auto tokens = f.world.exchange(f.app, code).value();
  f.world.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM authorization_codes WHERE code_hash = $1", code) == 0);
    CHECK(tx.number("SELECT count(*) FROM access_tokens WHERE token_hash = $1",
                    tokens.access_token) == 0);
    CHECK(tx.number("SELECT count(*) FROM refresh_tokens WHERE token_hash = $1",
                    tokens.refresh_token) == 0);
    CHECK(tx.number("SELECT count(*) FROM play_sessions WHERE token_hash = $1",
                    *tokens.session_token) == 0);
  });
}

TEST_CASE("each parameter of authorize has its refusal") {
  Fixture f;
  const auto with = [&](auto&& change) {
    auto request = f.world.authorization(f.app);
    change(request);
    return f.authorize(f.bob, request);
  };
  CHECK(with([](auto&) {}) == "");
  CHECK(with([](auto& r) { r.client_id = "client_unknown"; }) == "400 invalid_request");
  CHECK(with([](auto& r) { r.redirect_uri = "https://evil.example.org/callback"; }) ==
        "400 invalid_request");
  CHECK(with([](auto& r) { r.redirect_uri = ""; }) == "400 invalid_request");
  CHECK(with([](auto& r) { r.response_type = "token"; }) == "400 unsupported_response_type");
  CHECK(with([](auto& r) { r.code_challenge_method = "plain"; }) == "400 invalid_request");
  CHECK(with([](auto& r) { r.code_challenge_method = ""; }) == "400 invalid_request");
  CHECK(with([](auto& r) { r.code_challenge = ""; }) == "400 invalid_request");
  CHECK(with([](auto& r) { r.code_challenge += "x"; }) == "400 invalid_request");
  CHECK(with([](auto& r) { r.code_challenge.back() = '='; }) == "400 invalid_request");
  CHECK(with([](auto& r) { r.scope = "profile:read root"; }) == "400 invalid_scope");
}

TEST_CASE("a request without a scope asks for those that need no approval") {
  Fixture f;
  for (const char* none : {"", " "}) {
    const auto tokens = f.world.exchange(f.app, f.world.authorize(f.app, f.bob, none)).value();
    CHECK(tokens.scopes == ScopeSet::automatic());
  }
}

TEST_CASE("a scope that there isn't is named, and so are those that there are") {
  Fixture f;
  const auto said = [&](const std::string& scope) {
    return f.world.write([&](db::Tx& tx) {
      const auto answer = oauth::authorize(tx, f.bob, f.world.authorization(f.app, scope));
      return std::string(answer.error().what());
    });
  };
  CHECK(said("profile:read points:sped")
            .starts_with("points:sped isn't a scope; the scopes are profile:read, points:read, "));
  CHECK(said("+").starts_with("scope must contain one or more of profile:read, "));
}

TEST_CASE("one scope that isn't approved refuses the whole request") {
  Fixture f;
  CHECK(f.authorize(f.bob, f.world.authorization(f.app, "profile:read points:transfer")) ==
        "400 invalid_scope");
  CHECK(f.authorize(f.bob, f.world.authorization(f.app, "profile:read points:read")) == "");
}

TEST_CASE("operators' scopes are granted only by the app's owner") {
  Fixture f;
  CHECK(f.authorize(f.bob, f.world.authorization(f.app, "deploy:manage")) == "400 invalid_scope");
  CHECK(f.authorize(f.bob, f.world.authorization(f.app, "profile:read deploy:manage")) ==
        "400 invalid_scope");
  CHECK(f.authorize(f.ada, f.world.authorization(f.app, "profile:read deploy:manage")) == "");
}

TEST_CASE("if an app changes its owner, the old owner's tokens lose operators' scopes") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.ada, "profile:read deploy:manage");
  f.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE apps SET owner_id = $2 WHERE id = $1", f.app.id, f.bob.id);
  });
  CHECK(f.world.check(tokens.access_token).scopes == ScopeSet{Scope::profile_read});
}

TEST_CASE("the verifier must match the challenge, and have the standard's form") {
  Fixture f;
  const std::string code = f.world.authorize(f.app, f.bob);
  std::string other = code_verifier;
  other.back() = other.back() == 'a' ? 'b' : 'a';
  for (const std::string& verifier : {std::string(), other, code_verifier + "x",
                                      code_verifier.substr(1), base64url(sha256(code_verifier))}) {
    INFO(verifier);
    CHECK(refusal_of(f.world.exchange(f.app, code, verifier)) == "400 invalid_grant");
  }
  CHECK(refusal_of(f.world.exchange(f.app, code)) == "");

  const auto with_verifier = [&](const std::string& verifier) {
    auto request = f.world.authorization(f.app);
    request.code_challenge = base64url(sha256(verifier));
    const std::string made =
        f.world.write([&](db::Tx& tx) { return authorized(tx, f.bob, request).code; });
    return refusal_of(f.world.exchange(f.app, made, verifier));
  };
  CHECK(with_verifier(std::string(42, 'a')) ==
        "400 invalid_grant");  // RFC 7636, section 4.1 requires 43 to 128 characters
  CHECK(with_verifier(std::string(43, 'a')) == "");
  CHECK(with_verifier(std::string(128, '~')) == "");
  CHECK(with_verifier(std::string(129, 'a')) == "400 invalid_grant");
  CHECK(with_verifier(std::string(50, '!')) == "400 invalid_grant");
}

TEST_CASE("a code belongs to its redirect URI and its client") {
  Fixture f;
  const std::string code = f.world.authorize(f.app, f.bob);
  CHECK(refusal_of(f.world.exchange(f.app, code, code_verifier, redirect_uri + "/")) ==
        "400 invalid_grant");
  CHECK(refusal_of(f.world.exchange(f.app, code, code_verifier, "")) == "400 invalid_grant");
  const auto other = f.world.new_app(f.ada).app;
  CHECK(refusal_of(f.world.exchange(other, code)) == "400 invalid_grant");
  CHECK(refusal_of(f.world.exchange(f.app, "ac_live_unknown")) == "400 invalid_grant");
  CHECK(refusal_of(f.world.exchange(f.app, code)) == "");
}

TEST_CASE("a code works for less than 600 seconds") {
  for (const auto& [waited, expected] :
       {std::pair<Duration, std::string>{600s - 1ms, ""}, {600s, "400 invalid_grant"}}) {
    Fixture f;
    const std::string code = f.world.authorize(f.app, f.bob);
    f.world.clock.advance(waited);
    CHECK(refusal_of(f.world.exchange(f.app, code)) == expected);
  }
}

TEST_CASE("using a code twice revokes what it gave, including refreshed tokens") {
  Fixture f;
  const std::string code = f.world.authorize(f.app, f.bob);
  const auto tokens = f.world.exchange(f.app, code).value();
  const auto newer = f.world.refresh(f.app, tokens.refresh_token).value();
  const auto others = f.world.tokens(f.app, f.bob);
  CHECK(refusal_of(f.world.exchange(f.app, code)) == "400 invalid_grant");
  CHECK(f.check(tokens.access_token) == "401 token_revoked");
  CHECK(f.check(newer.access_token) == "401 token_revoked");
  CHECK(refusal_of(f.world.refresh(f.app, newer.refresh_token)) == "401 invalid_grant");
  CHECK(f.check(others.access_token) == "");
  // A used code is refused even before client and verifier are checked.
  CHECK(refusal_of(f.world.exchange(f.app, code, "wrong")) == "400 invalid_grant");
  const auto entries = f.world.read([](db::Tx& tx) {
    return audit::list(tx, {.action = "token.reuse"}, {.page = 1, .page_size = 10}).items;
  });
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].user_id == f.bob.id);
  CHECK(entries[0].details == R"({"kind":"authorization_code"})");
}

TEST_CASE("another client can't revoke anything with a code that isn't its own") {
  Fixture f;
  const std::string code = f.world.authorize(f.app, f.bob);
  const auto tokens = f.world.exchange(f.app, code).value();
  const auto other = f.world.new_app(f.ada).app;
  CHECK(refusal_of(f.world.exchange(other, code)) == "400 invalid_grant");
  CHECK(f.check(tokens.access_token) == "");
}

TEST_CASE("an access token works for one hour") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob);
  f.world.clock.advance(1h - 1ms);
  CHECK(f.check(tokens.access_token) == "");
  f.world.clock.advance(1ms);
  CHECK(f.check(tokens.access_token) == "401 token_expired");
  CHECK(f.reason(tokens.access_token) == "expired");
}

TEST_CASE("tokens lose a scope that is revoked from the app at once") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob, "profile:read points:spend");
  f.world.write(
      [&](db::Tx& tx) { apps::revoke_scopes(tx, f.app.id, {Scope::points_spend}, "root"); });
  CHECK(f.world.check(tokens.access_token).scopes == ScopeSet{Scope::profile_read});
  const auto newer = f.world.refresh(f.app, tokens.refresh_token).value();
  CHECK(f.world.check(newer.access_token).scopes == ScopeSet{Scope::profile_read});
}

TEST_CASE("existing tokens don't gain a scope that is approved later") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob);
  f.world.write([&](db::Tx& tx) {
    apps::approve(tx, apps::request_scopes(tx, f.app, {Scope::points_transfer}).id, "root");
  });
  REQUIRE(f.world.find_app(f.app.id).approved_scopes.has(Scope::points_transfer));
  CHECK(f.world.check(tokens.access_token).scopes == ScopeSet{Scope::profile_read});
}

TEST_CASE("a suspended user or app has no working tokens, and gets no new ones") {
  for (const char* table : {"users", "apps"}) {
    INFO(table);
    Fixture f;
    const std::string code = f.world.authorize(f.app, f.bob);
    const auto tokens = f.world.tokens(f.app, f.bob);
    const std::string& id = std::string(table) == "users" ? f.bob.id : f.app.id;
    f.world.write([&](db::Tx& tx) {
      const std::string sql =
          "UPDATE " + std::string(table) + " SET suspended_at = $2 WHERE id = $1";
      tx.execute(sql, id, tx.now());
    });
    CHECK(f.check(tokens.access_token) == "403 account_suspended");
    CHECK(f.reason(tokens.access_token) == "suspended");
    CHECK(refusal_of(f.world.refresh(f.app, tokens.refresh_token)) == "401 invalid_grant");
    CHECK(refusal_of(f.world.exchange(f.world.find_app(f.app.id), code)) == "400 invalid_grant");
  }
}

TEST_CASE("a suspended app gets no codes") {
  Fixture f;
  f.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE apps SET suspended_at = $2 WHERE id = $1", f.app.id, tx.now());
  });
  CHECK(f.authorize(f.bob, f.world.authorization(f.app)) == "400 unauthorized_client");
}

TEST_CASE("a user who disconnected the app has no working tokens and codes") {
  Fixture f;
  const std::string code = f.world.authorize(f.app, f.bob);
  const auto tokens = f.world.tokens(f.app, f.bob, "points:spend");
  f.world.write([&](db::Tx& tx) { tx.execute("UPDATE grants SET revoked_at = $1", tx.now()); });
  CHECK(f.check(tokens.access_token) == "401 token_revoked");
  CHECK(f.reason(tokens.access_token) == "revoked");
  CHECK(refusal_of(f.world.exchange(f.app, code)) == "400 invalid_grant");
  CHECK(refusal_of(f.world.refresh(f.app, tokens.refresh_token)) == "401 invalid_grant");
}

TEST_CASE("what isn't an access token isn't found") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob);
  for (const std::string& text :
       {std::string(), std::string("at_live_unknown"), tokens.refresh_token, *tokens.session_token,
        token_hash(tokens.access_token), tokens.access_token + " "}) {
    CHECK(f.check(text) == "401 invalid_token");
    CHECK(f.reason(text) == "not_found");
  }
  CHECK(f.reason(tokens.access_token) == "active");
}

}  // namespace
