// The client's own tokens, introspection, narrowed scopes and revocation.
#include <catch2/catch.hpp>

#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/oauth.h"
#include "controller/domain/oauth/token_rows.h"
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
  apps::App other = world.approved_app(ada, {Scope::points_spend, Scope::deploy_manage});

  std::string check(const std::string& token) {
    return refusal([&] { world.check(token); });
  }
  std::string refresh(const std::string& token) { return refusal_of(world.refresh(app, token)); }
  oauth::Tokens own_token(const apps::App& client, const std::optional<std::string>& scope = {}) {
    return world.write([&](db::Tx& tx) { return oauth::client_credentials(tx, client, scope); });
  }
  std::optional<oauth::TokenFacts> inspect(const apps::App& client, const std::string& token) {
    return world.read([&](db::Tx& tx) { return oauth::TokenLookup(tx, token).facts_for(client); });
  }
  std::string revoke(const apps::App& client, const std::string& token) {
    return refusal([&] { world.write([&](db::Tx& tx) { oauth::revoke(tx, client, token); }); });
  }
  void disconnect(const accounts::User& user) {
    world.write([&](db::Tx& tx) { connections::disconnect(tx, user.id, app.id); });
  }
};

TEST_CASE("client credentials give a token of the owner, with the app's approved scopes") {
  Fixture f;
  const auto tokens = f.own_token(f.app);
  CHECK(tokens.refresh_token.empty());
  CHECK_FALSE(tokens.session_token);
  CHECK(tokens.user_id == f.ada.id);
  CHECK(tokens.scopes == ScopeSet{Scope::profile_read, Scope::points_read, Scope::deploy_manage});
  const auto caller = f.world.check(tokens.access_token);
  CHECK(caller.user_id == f.ada.id);
  CHECK(caller.app_id == f.app.id);
  CHECK(caller.scopes == tokens.scopes);
  CHECK(caller.expires_at == f.world.clock.now() + 1h);
  CHECK(f.own_token(f.app, "deploy:manage").scopes == ScopeSet{Scope::deploy_manage});
}

TEST_CASE("client credentials don't reach what the app isn't approved for") {
  Fixture f;
  const auto refused = [&](const std::string& scope) {
    return refusal([&] { f.own_token(f.app, scope); });
  };
  CHECK(refused("campaigns:manage") == "400 invalid_scope");
  CHECK(refused("deploy:manage root") == "400 invalid_scope");
  CHECK(refused(" ") == "400 invalid_scope");
  f.world.write([&](db::Tx& tx) { apps::suspend(tx, f.app.id, "root"); });
  CHECK(refusal([&] { f.own_token(f.world.find_app(f.app.id)); }) == "400 unauthorized_client");
}

TEST_CASE("client credentials move the owner's points only if they consented as a user") {
  Fixture f;
  CHECK(refusal([&] { f.own_token(f.app, "points:spend"); }) == "400 invalid_scope");
  f.world.tokens(f.app, f.bob, "points:spend");  // another user's consent isn't the owner's
  CHECK(refusal([&] { f.own_token(f.app, "points:spend"); }) == "400 invalid_scope");
  f.world.tokens(f.app, f.ada, "points:spend");
  CHECK(f.own_token(f.app, "points:spend").scopes == ScopeSet{Scope::points_spend});
  f.disconnect(f.ada);
  CHECK(refusal([&] { f.own_token(f.app, "points:spend"); }) == "400 invalid_scope");
}

TEST_CASE("an app's own tokens aren't a consent, and new ones restore no old one") {
  Fixture f;
  const auto own = f.own_token(f.app);
  const auto connected = [&] {
    return f.world.read([&](db::Tx& tx) { return connections::list(tx, f.ada.id, {}).total; });
  };
  CHECK(connected() == 0);
  const auto consented = f.world.tokens(f.app, f.ada, "points:spend");
  CHECK(connected() == 1);
  f.disconnect(f.ada);
  CHECK(connected() == 0);
  CHECK(f.check(own.access_token) == "401 token_revoked");
  CHECK(f.check(f.own_token(f.app).access_token) == "");
  CHECK(f.check(consented.access_token) == "401 token_revoked");
  CHECK(f.refresh(consented.refresh_token) == "401 invalid_grant");
}

TEST_CASE("a new consent restores no token, code or limit of the old one") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob, "points:spend");
  const std::string code = f.world.authorize(f.app, f.bob, "points:spend");
  f.world.write([&](db::Tx& tx) { connections::set_daily_spend_limit(tx, f.bob.id, f.app.id, 5); });
  f.disconnect(f.bob);
  const auto newer = f.world.tokens(f.app, f.bob, "profile:read");
  CHECK(f.check(tokens.access_token) == "401 token_revoked");
  CHECK(f.refresh(tokens.refresh_token) == "401 invalid_grant");
  CHECK(refusal_of(f.world.exchange(f.app, code)) == "400 invalid_grant");
  CHECK(f.check(newer.access_token) == "");
  const auto connection =
      f.world.read([&](db::Tx& tx) { return connections::get(tx, f.bob.id, f.app.id); });
  CHECK(connection.scopes == ScopeSet{Scope::profile_read});
  CHECK_FALSE(connection.daily_spend_limit);
}

TEST_CASE("a client inspects its own tokens") {
  Fixture f;
  using Kind = oauth::TokenKind;
  const auto tokens = f.world.tokens(f.app, f.bob, "points:spend profile:read");
  const auto access = f.inspect(f.app, tokens.access_token).value();
  CHECK(access.kind == Kind::access);
  CHECK(access.user_id == f.bob.id);
  CHECK(access.scopes == ScopeSet{Scope::profile_read, Scope::points_spend});
  CHECK(access.expires_at == f.world.clock.now() + 1h);
  const auto refresh = f.inspect(f.app, tokens.refresh_token).value();
  CHECK(refresh.kind == Kind::refresh);
  CHECK(refresh.scopes == access.scopes);
  CHECK(refresh.expires_at == f.world.clock.now() + std::chrono::days(30));
  const auto session = f.inspect(f.app, *tokens.session_token).value();
  CHECK(session.kind == Kind::session);
  CHECK(session.scopes.empty());
}

TEST_CASE("a client learns nothing about tokens that aren't its own or don't work") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob);
  for (const std::string& token :
       {tokens.access_token, tokens.refresh_token, *tokens.session_token}) {
    CHECK(f.inspect(f.app, token));
    CHECK_FALSE(f.inspect(f.other, token));
  }
  CHECK_FALSE(f.inspect(f.app, ""));
  CHECK_FALSE(f.inspect(f.app, "at_live_unknown"));
  CHECK_FALSE(f.inspect(f.app, f.world.jwt(f.bob)));
  const auto newer = f.world.refresh(f.app, tokens.refresh_token).value();
  CHECK_FALSE(f.inspect(f.app, tokens.refresh_token));  // it was consumed
  CHECK(f.inspect(f.app, newer.refresh_token));
  f.world.clock.advance(1h);
  CHECK_FALSE(f.inspect(f.app, tokens.access_token));  // it has expired
  f.world.suspend_user(f.bob.id);
  CHECK_FALSE(f.inspect(f.app, newer.refresh_token));
  CHECK_FALSE(f.inspect(f.app, *tokens.session_token));
}

TEST_CASE("a revoked access token ends alone") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob);
  CHECK(f.revoke(f.app, tokens.access_token) == "");
  CHECK(f.check(tokens.access_token) == "401 token_revoked");
  CHECK_FALSE(f.inspect(f.app, tokens.access_token));
  CHECK(f.revoke(f.app, tokens.access_token) == "");
  CHECK(f.refresh(tokens.refresh_token) == "");
}

TEST_CASE("revoking a refresh token revokes its family, even if it was consumed") {
  for (const bool consumed : {false, true}) {
    Fixture f;
    const auto tokens = f.world.tokens(f.app, f.bob);
    const auto newer = consumed ? f.world.refresh(f.app, tokens.refresh_token).value() : tokens;
    const auto another = f.world.tokens(f.app, f.bob);
    CHECK(f.revoke(f.app, tokens.refresh_token) == "");
    CHECK(f.check(tokens.access_token) == "401 token_revoked");
    CHECK(f.check(newer.access_token) == "401 token_revoked");
    CHECK(f.refresh(newer.refresh_token) == "401 invalid_grant");
    CHECK_FALSE(f.inspect(f.app, *tokens.session_token));
    CHECK(f.check(another.access_token) == "");
  }
}

TEST_CASE("revoking a session token ends only the session") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob);
  CHECK(f.revoke(f.app, *tokens.session_token) == "");
  CHECK_FALSE(f.inspect(f.app, *tokens.session_token));
  CHECK(f.check(tokens.access_token) == "");
}

TEST_CASE("a client can't revoke another client's token, and unknown ones are ignored") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob);
  for (const std::string& token :
       {tokens.access_token, tokens.refresh_token, *tokens.session_token}) {
    CHECK(f.revoke(f.other, token) == "400 invalid_grant");
    CHECK(f.inspect(f.app, token));
  }
  CHECK(f.revoke(f.app, "at_live_unknown") == "");
  CHECK(f.revoke(f.app, "") == "");
}

TEST_CASE("a refresh may ask for fewer scopes, and for no more than were granted") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob, "profile:read points:spend");
  const auto refresh = [&](const std::string& token, const std::string& scope) {
    return f.world.write(
        [&](db::Tx& tx) { return oauth::refresh(tx, f.app, token, f.world.policy, scope); });
  };
  CHECK(refusal_of(refresh(tokens.refresh_token, "points:read")) == "400 invalid_scope");
  CHECK(refusal_of(refresh(tokens.refresh_token, "root")) == "400 invalid_scope");
  // A refused refresh doesn't consume the token.
  const auto less = refresh(tokens.refresh_token, "profile:read").value();
  CHECK(less.scopes == ScopeSet{Scope::profile_read});
  CHECK(f.world.check(less.access_token).scopes == ScopeSet{Scope::profile_read});
  // The next refresh gives all scopes again (RFC 6749, section 6).
  const auto all = f.world.refresh(f.app, less.refresh_token).value();
  CHECK(f.world.check(all.access_token).scopes ==
        ScopeSet{Scope::profile_read, Scope::points_spend});
}

TEST_CASE("a token without any usable scope isn't issued, and works again with its scopes") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob, "points:spend");
  const std::string code = f.world.authorize(f.app, f.bob, "points:spend");
  f.world.write(
      [&](db::Tx& tx) { apps::revoke_scopes(tx, f.app.id, {Scope::points_spend}, "root"); });
  CHECK(f.refresh(tokens.refresh_token) == "401 invalid_grant");
  CHECK(refusal_of(f.world.exchange(f.world.find_app(f.app.id), code)) == "400 invalid_grant");
  f.world.write([&](db::Tx& tx) {
    apps::approve(
        tx, apps::request_scopes(tx, f.world.find_app(f.app.id), {Scope::points_spend}).id, "root");
  });
  CHECK(f.refresh(tokens.refresh_token) == "");
}

TEST_CASE("an access token ends no later than its family") {
  Fixture f;
  f.world.policy.family_lifetime = 30min;
  const auto tokens = f.world.tokens(f.app, f.bob);
  CHECK(tokens.access_token_expires_at == f.world.clock.now() + 30min);
  CHECK(tokens.session_token_expires_at == f.world.clock.now() + 30min);
}

TEST_CASE("a deleted app's tokens and secret don't work, so that nobody can exchange its codes") {
  Fixture f;
  const auto registered = f.world.new_app(f.ada);
  const auto tokens = f.world.tokens(registered.app, f.bob);
  f.world.write([&](db::Tx& tx) { apps::remove(tx, registered.app); });
  CHECK(f.check(tokens.access_token) == "401 token_revoked");
  CHECK(refusal_of(f.world.refresh(std::nullopt, tokens.refresh_token)) == "401 invalid_grant");
  CHECK(refusal([&] {
          f.world.read([&](db::Tx& tx) {
            apps::authenticate(tx, registered.app.client_id, registered.client_secret);
          });
        }) == "401 invalid_client");
  CHECK(refusal([&] { f.world.authorize(registered.app, f.bob); }) == "400 invalid_request");
}

TEST_CASE("the families of a consent are limited; the oldest end") {
  Fixture f;
  // One opening in 16 ends what is too much; that none of a thousand does is as likely as 1e-28.
  constexpr int most = oauth::max_families_per_grant + 1'000;
  std::vector<std::string> opened;
  do {
    opened.push_back(f.own_token(f.app).access_token);
    f.world.clock.advance(1ms);
  } while (f.check(opened.front()) == "" && opened.size() < most);
  REQUIRE(opened.size() > oauth::max_families_per_grant);
  REQUIRE(opened.size() < most);
  // All but the newest ended at once.
  const size_t ended = opened.size() - oauth::max_families_per_grant;
  CHECK(f.check(opened[ended - 1]) == "401 token_revoked");
  CHECK(f.check(opened[ended]) == "");
  CHECK(f.check(opened.back()) == "");
  // A consent to another app is separate.
  CHECK(f.check(f.own_token(f.other).access_token) == "");
  CHECK(f.check(opened[ended]) == "");
}

}  // namespace
