// Logins with OpenID Connect: ID tokens and their keys, the parameters of requests, and logouts.
#include "controller/domain/oauth/openid.h"

#include <catch2/catch.hpp>
#include <set>

#include "controller/base/jws.h"
#include "controller/base/rsa_key.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/expiry.h"
#include "controller/domain/oauth/logouts.h"
#include "controller/domain/oauth/openid_keys.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using nlohmann::json;

json part_of(const std::string& token, int number) {
  size_t begin = 0;
  for (int i = 0; i < number; ++i) begin = token.find('.', begin) + 1;
  return json::parse(parse_base64url(token.substr(begin, token.find('.', begin) - begin)).value());
}

std::int64_t seconds(Instant at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  accounts::User bob = world.verified_user("bob");
  apps::App app = world.new_app(ada).app;
  accounts::Session session = world.log_in(bob);
  const openid::Issuer issuer = {.url = "https://api.example.org", .data_key = world.keys.data};

  oauth::AuthorizationRequest request(const std::string& scope = "openid") {
    auto asked = world.authorization(app, scope);
    asked.nonce = "a nonce";
    return asked;
  }
  std::expected<oauth::AuthorizationCode, Error> ask(const oauth::AuthorizationRequest& asked) {
    return world.write(
        [&](db::Tx& tx) { return oauth::authorize(tx, bob, asked, std::nullopt, session.id); });
  }
  std::string refused(const oauth::AuthorizationRequest& asked) {
    const auto code = ask(asked);
    return code ? "" : std::string(name(code.error().code));
  }
  oauth::Tokens log_in(const std::string& scope = "openid") {
    return world.exchange(app, ask(request(scope)).value().code).value();
  }
  std::string id_token(const oauth::Tokens& tokens) {
    return world.write([&](db::Tx& tx) { return openid::id_token(tx, tokens, issuer); });
  }
  openid::SigningKeys keys() {
    return world.write(
        [&](db::Tx& tx) { return openid::signing_keys_or_new(tx, world.keys.data); });
  }
  std::vector<std::string> rotate() {
    const auto fresh = openid::new_key_pair();
    return world.write(
        [&](db::Tx& tx) { return openid::rotate_signing_keys(tx, world.keys.data, fresh); });
  }
  std::optional<openid::Hint> hint(const std::string& token) {
    return world.read([&](db::Tx& tx) { return openid::read_hint(tx, token, issuer); });
  }
  void set(const apps::OpenIdSettings& settings) {
    world.write([&](db::Tx& tx) { apps::store_openid_settings(tx, app.id, settings); });
  }
  std::vector<logouts::Notice> notices() {
    return world.read([](db::Tx& tx) { return logouts::due(tx, 100, 100); });
  }
  void end_session() {
    world.write([&](db::Tx& tx) { accounts::end_session(tx, bob.id, session.id); });
  }
};

// ---- ID tokens ----------------------------------------------------------------------------------

TEST_CASE("an ID token says who has logged in to which app, and when") {
  Fixture f;
  const Instant logged_in = f.world.clock.now();
  f.world.clock.advance(5min);
  const auto tokens = f.log_in();
  REQUIRE(tokens.login);
  const std::string token = f.id_token(tokens);
  const json header = part_of(token, 0), claims = part_of(token, 1);
  CHECK(header.at("alg") == "RS256");
  CHECK(header.at("typ") == "JWT");
  CHECK(header.at("kid") == f.keys().current.rsa_id);
  CHECK(claims.at("iss") == f.issuer.url);
  CHECK(claims.at("sub") == f.bob.id);
  CHECK(claims.at("aud") == f.app.client_id);
  CHECK(claims.at("iat") == seconds(f.world.clock.now()));
  CHECK(claims.at("exp") == seconds(f.world.clock.now() + 1h));
  CHECK(claims.at("auth_time") == seconds(logged_in));
  CHECK(claims.at("nonce") == "a nonce");
  CHECK(claims.at("at_hash") == base64url(sha256(tokens.access_token).substr(0, 16)));
  CHECK(claims.at("sid") == openid::session_name(f.session.id, f.app.client_id));
  CHECK(claims.at("sid") != f.session.id);
  for (const char* name : {"email", "email_verified", "name", "preferred_username", "updated_at"})
    CHECK_FALSE(claims.contains(name));
}

TEST_CASE("profile and email give their claims, and nothing else does") {
  Fixture f;
  const json claims = part_of(f.id_token(f.log_in("openid profile email")), 1);
  CHECK(claims.at("preferred_username") == "bob");
  CHECK(claims.at("name") == "bob");
  CHECK(claims.at("updated_at") == seconds(f.world.clock.now()));
  CHECK(claims.at("email") == "bob@example.org");
  CHECK(claims.at("email_verified") == true);
  CHECK_FALSE(part_of(f.id_token(f.log_in("openid profile")), 1).contains("email"));
  CHECK_FALSE(part_of(f.id_token(f.log_in("openid email")), 1).contains("name"));
}

TEST_CASE("an app may have its ID tokens signed by EdDSA, with a hash that fits") {
  Fixture f;
  f.set({.id_token_alg = apps::IdTokenAlg::eddsa});
  const auto tokens = f.log_in();
  const std::string token = f.id_token(tokens);
  const auto parsed = jws::parse(token);
  REQUIRE(parsed);
  CHECK(jws::verifies(jws::public_key_of(f.keys().current.seed), parsed->signed_part,
                      parsed->signature));
  CHECK(parsed->payload.at("at_hash") == base64url(sha512(tokens.access_token).substr(0, 32)));
}

TEST_CASE("without openid there is no ID token, and nothing is stored for one") {
  Fixture f;
  const auto tokens = f.log_in("profile:read");
  CHECK_FALSE(tokens.login);
  CHECK_FALSE(f.world.refresh(f.app, tokens.refresh_token).value().login);
  f.world.read([](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM token_families WHERE session_id IS NOT NULL") == 0);
    CHECK(tx.number("SELECT count(*) FROM authorization_codes WHERE nonce IS NOT NULL") == 0);
  });
}

TEST_CASE("a refreshed ID token is of the same login, and has no nonce") {
  Fixture f;
  const auto first = f.log_in("openid profile:read");
  const json before = part_of(f.id_token(first), 1);
  f.world.clock.advance(30min);
  const auto second = f.world.refresh(f.app, first.refresh_token).value();
  REQUIRE(second.login);
  const json after = part_of(f.id_token(second), 1);
  for (const char* same : {"iss", "sub", "aud", "auth_time", "sid"})
    CHECK(after.at(same) == before.at(same));
  CHECK(after.at("iat") == before.at("iat").get<std::int64_t>() + 1800);
  CHECK(after.at("at_hash") != before.at("at_hash"));
  CHECK_FALSE(after.contains("nonce"));
  // Whoever asks for fewer scopes than openid gets no ID token.
  const auto narrowed = f.world.write([&](db::Tx& tx) {
    return oauth::refresh(tx, f.app, second.refresh_token, f.world.policy, "profile:read");
  });
  CHECK_FALSE(narrowed.value().login);
}

TEST_CASE("a nonce belongs to one code: it is gone once that is used, and comes back in no other") {
  Fixture f;
  const std::string code = f.ask(f.request()).value().code;
  REQUIRE(f.world.exchange(f.app, code));
  CHECK(refusal_of(f.world.exchange(f.app, code)) == "400 invalid_grant");
  f.world.read([](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM authorization_codes WHERE nonce IS NOT NULL") == 0);
  });
  auto without = f.request();
  without.nonce = "";
  const auto tokens = f.world.exchange(f.app, f.ask(without).value().code).value();
  CHECK_FALSE(part_of(f.id_token(tokens), 1).contains("nonce"));
}

TEST_CASE("a code whose session has ended logs nobody in") {
  Fixture f;
  const std::string code = f.ask(f.request()).value().code;
  f.end_session();
  CHECK(refusal_of(f.world.exchange(f.app, code)) == "400 invalid_grant");
  CHECK(f.refused(f.request("profile:read")) == "");
}

TEST_CASE("any app may ask for openid, profile and email, and gets them only if it asks") {
  Fixture f;
  CHECK(f.app.allowed_scopes == ScopeSet{Scope::profile_read});
  CHECK(f.log_in("openid profile email").scopes == ScopeSet::identity());
  CHECK(f.log_in("").scopes == ScopeSet::automatic());
  const apps::App registered = f.world.new_app(f.ada, {Scope::openid, Scope::email}).app;
  CHECK(registered.is_approved());
  CHECK(registered.approved_scopes ==
        (ScopeSet::automatic() | ScopeSet{Scope::openid, Scope::email}));
  const auto own = f.world.write(
      [&](db::Tx& tx) { return oauth::client_credentials(tx, registered, std::nullopt); });
  CHECK(own.scopes == ScopeSet::automatic());
  CHECK(refusal([&] {
          f.world.write([&](db::Tx& tx) {
            oauth::client_credentials(tx, registered, std::optional<std::string>("openid"));
          });
        }) == "400 invalid_scope");
}

// ---- Parameters ---------------------------------------------------------------------------------

TEST_CASE("each parameter of OpenID Connect has its refusal") {
  Fixture f;
  const auto with = [&](auto&& change) {
    auto asked = f.request();
    change(asked);
    return f.refused(asked);
  };
  CHECK(with([](auto& r) { r.nonce = std::string(255, 'n'); }) == "");
  CHECK(with([](auto& r) { r.nonce = std::string(256, 'n'); }) == "invalid_request");
  CHECK(with([](auto& r) { r.prompt = "none login"; }) == "invalid_request");
  CHECK(with([](auto& r) { r.prompt = "consent something_new"; }) == "");
  for (const char* wrong : {"-1", "1.5", "soon", "99999999999999999999"})
    CHECK(with([&](auto& r) { r.max_age = wrong; }) == "invalid_request");
  CHECK(with([](auto& r) { r.max_age = "9223372036854775807"; }) == "");
  CHECK(with([](auto& r) { r.authenticated_since = "yesterday"; }) == "invalid_request");
  CHECK(with([](auto& r) { r.has_request_object = true; }) == "request_not_supported");
  CHECK(with([](auto& r) { r.has_request_uri = true; }) == "request_uri_not_supported");
}

TEST_CASE("max_age and prompt=login want a login that is recent enough") {
  Fixture f;
  auto asked = f.request();
  f.world.clock.advance(10min);
  asked.max_age = "600";
  CHECK(f.refused(asked) == "");
  f.world.clock.advance(1s);
  CHECK(f.refused(asked) == "login_required");
  asked.max_age = "0";
  CHECK(f.refused(asked) == "login_required");
  asked.max_age = "";
  asked.prompt = "login";
  CHECK(f.refused(asked) == "login_required");
  asked.prompt = "select_account";
  CHECK(f.refused(asked) == "login_required");
  asked.prompt = "";
  asked.authenticated_since = std::to_string(to_millis(f.world.clock.now()));
  CHECK(f.refused(asked) == "login_required");
  // Somebody proves in the same session who they are.
  f.world.write([&](db::Tx& tx) { accounts::note_proof(tx, f.session.id); });
  CHECK(f.refused(asked) == "");
  const auto tokens = f.world.exchange(f.app, f.ask(asked).value().code).value();
  CHECK(part_of(f.id_token(tokens), 1).at("auth_time") == seconds(f.world.clock.now()));
}

TEST_CASE("prompt=none gives a code only for what the user has allowed already") {
  Fixture f;
  auto silent = f.request();
  silent.prompt = "none";
  CHECK(f.refused(silent) == "consent_required");
  f.log_in();
  CHECK(f.refused(silent) == "");
  silent.scope = "openid email";
  CHECK(f.refused(silent) == "consent_required");
  silent.scope = "openid";
  f.world.write([&](db::Tx& tx) { connections::disconnect(tx, f.bob.id, f.app.id); });
  CHECK(f.refused(silent) == "consent_required");
}

TEST_CASE("prompt=none doesn't trust an app on a device, in whose name others may ask") {
  Fixture f;
  const auto app = f.world.write([&](db::Tx& tx) {
    return apps::create(tx, f.ada.id,
                        {.app_name = "On a device",
                         .app_description = "",
                         .logo_url = {},
                         .website_url = {},
                         .redirect_uris = {"com.example.game:/callback", redirect_uri},
                         .allowed_scopes = {Scope::profile_read},
                         .is_public = true})
        .app;
  });
  auto asked = f.world.authorization(app, "openid");
  CHECK(f.refused(asked) == "");
  asked.prompt = "none";
  CHECK(f.refused(asked) == "");
  asked.redirect_uri = "com.example.game:/callback";
  CHECK(f.refused(asked) == "interaction_required");
}

// ---- Keys ---------------------------------------------------------------------------------------

std::set<std::string> ids(const json& set) {
  std::set<std::string> all;
  for (const json& key : set.at("keys")) all.insert(key.at("kid"));
  return all;
}

TEST_CASE("keys are published before they sign, and until their last token has expired") {
  Fixture f;
  const auto published = [&] { return openid::published_keys(f.keys(), f.world.clock.now()); };
  const auto first = ids(published());
  CHECK(first.size() == 4);
  const std::string token = f.id_token(f.log_in());
  const auto now_signing = f.rotate();
  for (const std::string& id : now_signing) CHECK(first.contains(id));
  CHECK(ids(published()).size() == 6);
  CHECK(f.hint(token));
  // What signs next has to be known for an hour first.
  CHECK(refusal([&] { f.rotate(); }) == "409 invalid_state");
  f.world.clock.advance(openid::published_for);
  CHECK(f.hint(token));
  f.world.clock.advance(openid::former_kept_for - openid::published_for);
  CHECK(ids(published()).size() == 4);
  CHECK_FALSE(f.hint(token));
  f.rotate();
  CHECK(ids(published()).size() == 6);
  static_assert(openid::former_kept_for > openid::id_token_lifetime);
}

TEST_CASE("the keys rotate by themselves after 90 days, and the database has them encrypted") {
  Fixture f;
  Round round(f.world.db);
  const Loop loop = openid::keys_loop(f.world.keys.data);
  const auto run = [&] { round.run(loop.round); };
  run();
  const std::string first = f.keys().current.rsa_id, second = f.keys().next.rsa_id;
  run();
  CHECK(f.keys().current.rsa_id == first);
  f.world.clock.advance(openid::rotated_every);
  run();
  CHECK(f.keys().current.rsa_id == second);
  run();
  CHECK(f.keys().current.rsa_id == second);
  f.world.read([&](db::Tx& tx) {
    CHECK_THROWS(openid::signing_keys(tx, std::string(32, 'x')));
    CHECK(tx.number(
              "SELECT count(*) FROM meta WHERE key = 'openid_keys' AND value LIKE '%\"rsa%'") == 0);
  });
}

TEST_CASE("only an ID token of this issuer is a hint, whatever its algorithm says") {
  Fixture f;
  const std::string token = f.id_token(f.log_in());
  const auto hint = f.hint(token);
  REQUIRE(hint);
  CHECK(hint->client_id == f.app.client_id);
  CHECK(hint->user_id == f.bob.id);
  CHECK(hint->session_name == openid::session_name(f.session.id, f.app.client_id));
  // One that has expired is one as well.
  f.world.clock.advance(2h);
  CHECK(f.hint(token));

  const std::string payload = token.substr(token.find('.') + 1);
  const std::string claims = payload.substr(0, payload.find('.'));
  const std::string kid = f.keys().current.rsa_id;
  const auto forged = [&](const json& header, const std::string& signature) {
    return base64url(header.dump()) + "." + claims + "." + signature;
  };
  const json none = {{"alg", "none"}, {"typ", "JWT"}, {"kid", kid}};
  CHECK_FALSE(f.hint(forged(none, "")));
  // The public key as the secret of an HMAC.
  const json hmac = {{"alg", "HS256"}, {"typ", "JWT"}, {"kid", kid}};
  const std::string head = base64url(hmac.dump()) + "." + claims;
  CHECK_FALSE(
      f.hint(head + "." + base64url(hmac_sha256(rsa::public_key_of(f.keys().current.rsa), head))));
  const json other_key = {{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "unknown"}};
  CHECK_FALSE(f.hint(forged(other_key, token.substr(token.rfind('.') + 1))));
  CHECK_FALSE(f.hint(token.substr(0, token.rfind('.') + 1)));
  CHECK_FALSE(f.hint(token + "A"));
  for (const char* text : {"", ".", "..", "a.b.c", "not a token"}) CHECK_FALSE(f.hint(text));
  // Another kind of token by the same keys, and one of another issuer.
  const json fields = part_of(token, 1);
  CHECK_FALSE(f.hint(openid::sign(f.keys(), apps::IdTokenAlg::rs256, "logout+jwt", fields)));
  json elsewhere = fields;
  elsewhere["iss"] = "https://evil.example.org";
  CHECK_FALSE(f.hint(openid::sign(f.keys(), apps::IdTokenAlg::rs256, "JWT", elsewhere)));
}

// ---- Logouts ------------------------------------------------------------------------------------

const apps::OpenIdSettings told = {.backchannel_logout_uri = "https://game.example.org/out"};

TEST_CASE("an app that wants to know is told of a session that ends") {
  Fixture f;
  f.set(told);
  f.id_token(f.log_in());
  f.id_token(f.log_in());
  CHECK(f.notices().empty());
  f.end_session();
  const auto notices = f.notices();
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].url == *told.backchannel_logout_uri);
  const std::string token =
      f.world.read([&](db::Tx& tx) { return logouts::logout_token(tx, notices[0], f.issuer); });
  CHECK(part_of(token, 0).at("typ") == "logout+jwt");
  const json claims = part_of(token, 1);
  CHECK(claims.at("iss") == f.issuer.url);
  CHECK(claims.at("aud") == f.app.client_id);
  CHECK(claims.at("sub") == f.bob.id);
  CHECK(claims.at("sid") == openid::session_name(f.session.id, f.app.client_id));
  CHECK(claims.at("events") ==
        json{{"http://schemas.openid.net/event/backchannel-logout", json::object()}});
  CHECK(claims.contains("jti"));
  CHECK(claims.at("exp") == seconds(f.world.clock.now() + openid::logout_token_lifetime));
  CHECK_FALSE(claims.contains("nonce"));  // section 2.4 forbids it
}

TEST_CASE("who isn't told: other apps, without openid, after a disconnection, of an expiry") {
  Fixture f;
  SECTION("an app that hasn't asked for it") { f.log_in(); }
  SECTION("an app without openid") {
    f.set(told);
    f.log_in("profile:read");
  }
  SECTION("an app whose tokens were revoked") {
    f.set(told);
    const auto tokens = f.log_in();
    f.world.write([&](db::Tx& tx) { oauth::revoke(tx, f.app, tokens.refresh_token); });
  }
  f.end_session();
  CHECK(f.notices().empty());
}

TEST_CASE("a session that ends by its time has nothing to send") {
  Fixture f;
  f.set(told);
  f.log_in();
  f.world.clock.advance(24h);
  f.world.write(
      [&](db::Tx& tx) { tx.execute("DELETE FROM sessions WHERE expires_at <= $1", tx.now()); });
  const auto notices = f.notices();
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].url == "");
}

TEST_CASE("an app is told once that it was disconnected, and so is an app that changes its mind") {
  Fixture f;
  f.set(told);
  f.log_in();
  f.world.write([&](db::Tx& tx) { connections::disconnect(tx, f.bob.id, f.app.id); });
  CHECK(f.notices().size() == 1);
  f.end_session();
  REQUIRE(f.notices().size() == 1);
  f.set({});
  CHECK(f.notices()[0].url == "");
}

TEST_CASE("an attempt counts before it is made, and postpones the notice") {
  Fixture f;
  f.set(told);
  f.log_in();
  f.end_session();
  const auto id = f.notices().at(0).id;
  const auto begin = [&] {
    return f.world.write(
        [&](db::Tx& tx) { return logouts::begin_attempt(tx, id, tx.now() + 10s); });
  };
  CHECK(begin());
  CHECK_FALSE(begin());
  CHECK(f.notices().empty());
  f.world.clock.advance(10s);
  REQUIRE(f.notices().size() == 1);
  CHECK(f.notices()[0].attempts == 1);
  // It is sent also after the time at which the session would have ended.
  f.world.clock.advance(24h);
  CHECK(f.notices()[0].url == *told.backchannel_logout_uri);
  f.world.write([&](db::Tx& tx) { logouts::forget(tx, id); });
  CHECK(f.notices().empty());
}

TEST_CASE("the settings of an app are stored only if they differ from the defaults") {
  Fixture f;
  const auto rows = [&] {
    return f.world.read(
        [](db::Tx& tx) { return tx.number("SELECT count(*) FROM openid_clients"); });
  };
  CHECK(rows() == 0);
  f.set(told);
  CHECK(rows() == 1);
  CHECK(f.world.read([&](db::Tx& tx) { return apps::openid_settings(tx, f.app.id); }) == told);
  f.set({});
  CHECK(rows() == 0);
  Details wrong;
  apps::check_openid({.post_logout_redirect_uris = {"javascript:alert(1)", "https://a.example/#x"},
                      .backchannel_logout_uri = "ftp://a.example"},
                     wrong);
  CHECK(wrong["post_logout_redirect_uris"].size() == 2);
  CHECK(wrong["backchannel_logout_uri"].size() == 1);
}

}  // namespace
