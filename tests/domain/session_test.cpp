// Session JWTs (RFC 7519): which ones are accepted and which aren't.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "controller/domain/accounts/accounts.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using nlohmann::json;

std::string check(World& world, const std::string& jwt) {
  return refusal(
      [&] { world.read([&](db::Tx& tx) { accounts::check_session(tx, jwt, world.keys); }); });
}

std::string signed_with(const std::string& secret, const json& header, const json& claims) {
  const std::string text = base64url(header.dump()) + "." + base64url(claims.dump());
  return text + "." + base64url(hmac_sha256(secret, text));
}

json claims_of(const accounts::Session& session) {
  return {{"sub", session.user_id},
          {"sid", session.id},
          {"iat", to_millis(session.created_at) / 1000},
          {"exp", to_millis(session.expires_at) / 1000}};
}

TEST_CASE("a session's JWT belongs to its user") {
  World world;
  const auto ada = world.new_user("ada");
  const std::string jwt = world.jwt(ada);
  CHECK(accounts::looks_like_jwt(jwt));
  world.read([&](db::Tx& tx) { CHECK(accounts::check_session(tx, jwt, world.keys).id == ada.id); });
}

TEST_CASE("the JWT is HS256 as other libraries make it") {
  World world;
  const auto session = world.log_in(world.new_user("ada"));
  const std::string secret = world.keys.session[0].secret;
  CHECK(check(world, signed_with(secret, {{"alg", "HS256"}, {"typ", "JWT"}}, claims_of(session))) ==
        "");
  const std::string ours = accounts::session_jwt(session, world.keys);
  const std::string signed_part = ours.substr(0, ours.rfind('.'));
  CHECK(ours.substr(ours.rfind('.') + 1) == base64url(hmac_sha256(secret, signed_part)));
}

TEST_CASE("a JWT with another algorithm is refused, \"none\" above all") {
  World world;
  const auto session = world.log_in(world.new_user("ada"));
  const std::string secret = world.keys.session[0].secret;
  for (const char* alg :
       {"none", "None", "NONE", "HS384", "HS512", "RS256", "ES256", "", "hs256x"}) {
    INFO(alg);
    const json header = {{"alg", alg}, {"typ", "JWT"}};
    const std::string jwt = signed_with(secret, header, claims_of(session));
    CHECK(check(world, jwt) == "401 invalid_token");
    CHECK(check(world, jwt.substr(0, jwt.rfind('.') + 1)) == "401 invalid_token");
  }
  CHECK(check(world, signed_with(secret, {{"typ", "JWT"}}, claims_of(session))) ==
        "401 invalid_token");
}

TEST_CASE("a JWT that was changed is refused") {
  World world;
  const auto ada = world.new_user("ada"), bob = world.new_user("bob");
  const auto session = world.log_in(ada);
  const std::string jwt = accounts::session_jwt(session, world.keys);
  const size_t first = jwt.find('.'), second = jwt.rfind('.');
  json claims = claims_of(session);
  claims["sub"] = bob.id;
  CHECK(check(world, jwt.substr(0, first + 1) + base64url(claims.dump()) + jwt.substr(second)) ==
        "401 invalid_token");
  for (size_t i = 0; i < second; i += 7) {
    if (jwt[i] == '.') continue;
    std::string changed = jwt;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    INFO("character " << i);
    CHECK(check(world, changed) == "401 invalid_token");
  }
  std::string other_signature = jwt;
  other_signature[second + 1] = other_signature[second + 1] == 'A' ? 'B' : 'A';
  CHECK(check(world, other_signature) == "401 invalid_token");
  for (const std::string& text :
       {jwt.substr(0, second), jwt.substr(0, second + 1), jwt + ".x", std::string(),
        std::string("."), std::string(".."), std::string("eyJ.x.y"), std::string(10'000, '.')})
    CHECK(check(world, text) == "401 invalid_token");
}

TEST_CASE("a JWT signed with somebody else's key is refused") {
  World world;
  const auto session = world.log_in(world.new_user("ada"));
  CHECK(check(world, signed_with(std::string(32, 'x'), {{"alg", "HS256"}}, claims_of(session))) ==
        "401 invalid_token");
  CHECK(check(world, signed_with("", {{"alg", "HS256"}}, claims_of(session))) ==
        "401 invalid_token");
}

TEST_CASE("a new first key signs, and the old one still verifies") {
  World world;
  const auto ada = world.new_user("ada");
  const std::string before = world.jwt(ada);
  world.keys.session.replace(rotated(*world.keys.session.all(), world.clock.now(), 24h));
  const std::string after = world.jwt(ada);
  CHECK(check(world, before) == "");
  CHECK(check(world, after) == "");
  world.keys.session.replace({world.keys.session[0]});
  CHECK(check(world, before) == "401 invalid_token");
  CHECK(check(world, after) == "");
}

TEST_CASE("a session ends by its lifetime") {
  World world;
  const auto ada = world.new_user("ada");
  const std::string jwt = accounts::session_jwt(world.log_in(ada, 1h), world.keys);
  world.clock.advance(1h - 1s);
  CHECK(check(world, jwt) == "");
  world.clock.advance(1s);
  CHECK(check(world, jwt) == "401 token_expired");
  // It is refused also after its row was removed.
  world.write([](db::Tx& tx) { tx.execute("DELETE FROM sessions"); });
  CHECK(check(world, jwt) == "401 token_expired");
}

TEST_CASE("a session that was ended is refused, and others of the user go on") {
  World world;
  const auto ada = world.new_user("ada");
  const auto session = world.log_in(ada);
  const std::string jwt = accounts::session_jwt(session, world.keys), other = world.jwt(ada);
  world.write([&](db::Tx& tx) {
    tx.execute("UPDATE sessions SET revoked_at = $2 WHERE id = $1", session.id, tx.now());
  });
  CHECK(check(world, jwt) == "401 token_revoked");
  CHECK(check(world, other) == "");
  world.write([&](db::Tx& tx) { tx.execute("DELETE FROM sessions WHERE id = $1", session.id); });
  CHECK(check(world, jwt) == "401 token_revoked");
}

TEST_CASE("a session with another user's id is refused though berth signed it") {
  World world;
  const auto ada = world.new_user("ada"), bob = world.new_user("bob");
  json claims = claims_of(world.log_in(ada));
  claims["sub"] = bob.id;
  CHECK(check(world, signed_with(world.keys.session[0].secret, {{"alg", "HS256"}}, claims)) ==
        "401 token_revoked");
}

TEST_CASE("a suspended account can't open or use a session") {
  World world;
  const auto ada = world.new_user("ada");
  const std::string jwt = world.jwt(ada);
  world.suspend_user(ada.id);
  CHECK(check(world, jwt) == "403 account_suspended");
  CHECK(refusal([&] { world.log_in(ada); }) == "403 account_suspended");
}

TEST_CASE("what looks like a JWT") {
  CHECK(accounts::looks_like_jwt("eyJh.e30.c2ln"));
  for (const char* text : {"", "at_live_abc", "ey", "eyJh.e30", "xx.yy.zz", "ey.a.b.c"})
    CHECK_FALSE(accounts::looks_like_jwt(text));
}

}  // namespace
