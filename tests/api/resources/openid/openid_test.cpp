// OpenID Connect over the API: tokens, userinfo, the published documents, and an app's settings.
#include <catch2/catch.hpp>

#include "controller/base/rsa_key.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/oauth/openid_keys.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;
using berth::test::code_verifier;
using berth::test::redirect_uri;

json claims_of(const std::string& token) {
  const size_t begin = token.find('.') + 1;
  return json::parse(parse_base64url(token.substr(begin, token.rfind('.') - begin)).value());
}

struct Fixture {
  GateWorld g;
  accounts::User ada = g.world.verified_user("ada");
  accounts::User bob = g.world.verified_user("bob");
  apps::AppWithSecret registered = g.world.new_app(ada);
  apps::App app = registered.app;
  accounts::Session session = g.world.log_in(bob);
  std::string jwt = accounts::session_jwt(session, g.world.keys);

  Answered ask(const std::string& scope, const std::string& more = "") {
    return g.ask("GET",
                 "/api/oauth/authorize?response_type=code&client_id=" + app.client_id +
                     "&redirect_uri=https%3A%2F%2Fgame.example.org%2Fcallback&scope=" + scope +
                     "&code_challenge=" + base64url(sha256(code_verifier)) +
                     "&code_challenge_method=S256" + more,
                 {bearer(jwt)});
  }
  Answered exchange(const std::string& code) {
    return g.ask("POST", "/api/oauth/token", {},
                 json{{"grant_type", "authorization_code"},
                      {"code", code},
                      {"redirect_uri", redirect_uri},
                      {"code_verifier", code_verifier},
                      {"client_id", app.client_id},
                      {"client_secret", registered.client_secret}}
                     .dump());
  }
  json tokens(const std::string& scope, const std::string& more = "") {
    const auto answer = exchange(ask(scope, more).body.at("code"));
    REQUIRE(answer.status == 200);
    return answer.body;
  }
  Answered userinfo(const std::string& token, const std::string& method = "GET") {
    return g.ask(method, "/api/oauth/userinfo", {bearer(token)});
  }
  Answered change(const json& settings) {
    return g.ask("PUT", "/api/operator/apps/" + app.id, {bearer(g.world.jwt(ada))},
                 settings.dump());
  }
};

TEST_CASE("the token endpoint gives an ID token if openid was granted, and else none") {
  Fixture f;
  const json with = f.tokens("openid+email", "&nonce=n-1");
  CHECK(with.at("scope") == "openid email");
  const json claims = claims_of(with.at("id_token"));
  CHECK(claims.at("iss") == "https://api.example.org");
  CHECK(claims.at("sub") == f.bob.id);
  CHECK(claims.at("aud") == f.app.client_id);
  CHECK(claims.at("nonce") == "n-1");
  CHECK(claims.at("email") == "bob@example.org");
  CHECK_FALSE(f.tokens("profile:read").contains("id_token"));

  const auto refreshed = f.g.ask("POST", "/api/oauth/token", {},
                                 json{{"grant_type", "refresh_token"},
                                      {"refresh_token", with.at("refresh_token")},
                                      {"client_id", f.app.client_id},
                                      {"client_secret", f.registered.client_secret}}
                                     .dump());
  REQUIRE(refreshed.status == 200);
  CHECK_FALSE(claims_of(refreshed.body.at("id_token")).contains("nonce"));
}

TEST_CASE("an ID token is signed by a key of the published set, which clients may keep") {
  Fixture f;
  const std::string token = f.tokens("openid").at("id_token");
  const auto set = f.g.ask("GET", "/.well-known/jwks.json");
  REQUIRE(set.status == 200);
  CHECK(set.header("Cache-Control") == "public, max-age=3600");
  const json header = json::parse(parse_base64url(token.substr(0, token.find('.'))).value());
  int found = 0;
  for (const json& key : set.body.at("keys")) {
    CHECK_FALSE(key.contains("d"));
    if (key.at("kid") == header.at("kid")) ++found;
  }
  CHECK(found == 1);
}

TEST_CASE("userinfo says what the scopes allow, by GET and POST, in one flat object") {
  Fixture f;
  const json tokens = f.tokens("openid+profile+email");
  for (const char* method : {"GET", "POST"}) {
    const auto answer = f.userinfo(tokens.at("access_token"), method);
    REQUIRE(answer.status == 200);
    CHECK(answer.body.at("sub") == f.bob.id);
    CHECK(answer.body.at("preferred_username") == "bob");
    CHECK(answer.body.at("email") == "bob@example.org");
    CHECK(answer.body.at("email_verified") == true);
  }
  CHECK(f.userinfo(f.tokens("openid").at("access_token")).body == json{{"sub", f.bob.id}});
}

TEST_CASE("userinfo refuses with a challenge of RFC 6750") {
  Fixture f;
  const auto lacking = f.userinfo(f.tokens("profile:read").at("access_token"));
  CHECK(lacking.error() == "403 insufficient_scope");
  CHECK(lacking.header("WWW-Authenticate").find("scope=\"openid\"") != std::string::npos);
  const auto unknown = f.userinfo("at_live_unknown");
  CHECK(unknown.error() == "401 invalid_token");
  CHECK(unknown.header("WWW-Authenticate").find("error=\"invalid_token\"") != std::string::npos);
  CHECK(f.g.ask("GET", "/api/oauth/userinfo").header("WWW-Authenticate").starts_with("Bearer"));
  CHECK(f.userinfo(f.jwt).status == 401);
}

TEST_CASE("prompt and max_age decide over the API as well") {
  Fixture f;
  CHECK(f.ask("openid", "&prompt=none").body.at("error") == "consent_required");
  const std::string token = f.tokens("openid").at("id_token");
  CHECK(f.ask("openid", "&prompt=none").status == 200);
  CHECK(f.ask("openid", "&prompt=none&id_token_hint=" + token).status == 200);
  CHECK(f.ask("openid", "&prompt=none&id_token_hint=" + token + "x").body.at("error") ==
        "login_required");
  f.g.world.clock.advance(61s);
  const auto old = f.ask("openid", "&max_age=60&state=s");
  CHECK(old.body.at("error") == "login_required");
  CHECK(old.body.at("state") == "s");
  CHECK(old.body.at("iss") == "https://api.example.org");
  CHECK(f.ask("openid", "&request=e30").body.at("error") == "request_not_supported");
  CHECK(f.ask("openid", "&nonce=a&nonce=b").body.at("error") == "invalid_request");
}

TEST_CASE("a hint of another user is refused") {
  Fixture f;
  const std::string bobs = f.tokens("openid").at("id_token");
  f.jwt = f.g.world.jwt(f.ada);
  f.tokens("openid");
  CHECK(f.ask("openid", "&prompt=none&id_token_hint=" + bobs).body.at("error") == "login_required");
}

TEST_CASE("both documents of metadata are the same, and name what there is") {
  Fixture f;
  const json provider = f.g.ask("GET", "/.well-known/openid-configuration").body;
  CHECK(provider == f.g.ask("GET", "/.well-known/oauth-authorization-server").body);
  CHECK(provider.at("issuer") == "https://api.example.org");
  // What OpenID Connect Discovery 1.0, section 3, requires.
  for (const char* required :
       {"authorization_endpoint", "token_endpoint", "jwks_uri", "response_types_supported",
        "subject_types_supported", "id_token_signing_alg_values_supported"})
    CHECK(provider.contains(required));
  CHECK(provider.at("id_token_signing_alg_values_supported") == json{"RS256", "EdDSA"});
  CHECK(provider.at("request_uri_parameter_supported") == false);
  CHECK(provider.at("end_session_endpoint") == "https://api.example.org/end-session");
}

TEST_CASE("an app sets how its ID tokens are signed, and where people and logouts go") {
  Fixture f;
  const json settings = {{"id_token_signed_response_alg", "EdDSA"},
                         {"post_logout_redirect_uris", {"https://game.example.org/bye"}},
                         {"backchannel_logout_uri", "https://game.example.org/out"}};
  const auto changed = f.change(settings);
  REQUIRE(changed.status == 200);
  for (const auto& [name, value] : settings.items())
    CHECK(changed.body.at("app").at(name) == value);
  const std::string token = f.tokens("openid").at("id_token");
  CHECK(json::parse(parse_base64url(token.substr(0, token.find('.'))).value()).at("alg") ==
        "EdDSA");
  // What isn't named stays, and null takes the address away.
  CHECK(f.change({{"backchannel_logout_uri", nullptr}})
            .body.at("app")
            .at("id_token_signed_response_alg") == "EdDSA");
  CHECK(f.change({{"id_token_signed_response_alg", "none"}}).error() == "422 validation_failed");
  CHECK(f.change({{"post_logout_redirect_uris", {"javascript:alert(1)"}}}).error() ==
        "422 validation_failed");
  CHECK(f.change({{"backchannel_logout_uri", "http://game.example.org/out#x"}}).error() ==
        "422 validation_failed");
}

TEST_CASE("outside of development, logout tokens only go to https") {
  Fixture f;
  f.g.services.environment = Environment::production;
  CHECK(f.change({{"backchannel_logout_uri", "http://game.example.org/out"}}).error() ==
        "422 validation_failed");
  CHECK(f.change({{"backchannel_logout_uri", "https://game.example.org/out"}}).status == 200);
}

TEST_CASE("an admin rotates the keys, and tokens of the former ones stay valid for their time") {
  Fixture f;
  const auto kids = [&] {
    std::vector<std::string> all;
    const json set = f.g.ask("GET", "/.well-known/jwks.json").body;
    for (const json& key : set.at("keys")) all.push_back(key.at("kid"));
    return all;
  };
  const auto before = kids();
  CHECK(before.size() == 4);
  const auto rotate = [&] {
    return f.g.ask("POST", "/api/internal/openid-keys/rotate", f.g.admin);
  };
  const auto rotated = rotate();
  REQUIRE(rotated.status == 200);
  CHECK(rotated.body.at("kids") == json{before[2], before[3]});
  CHECK(kids().size() == 6);
  CHECK(rotate().error() == "409 invalid_state");
  f.g.world.clock.advance(openid::former_kept_for);
  CHECK(kids().size() == 4);
  CHECK(f.g.ask("POST", "/api/internal/openid-keys/rotate").status == 403);
}

}  // namespace
