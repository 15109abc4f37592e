// CI jobs over the API: admins list issuers, owners trust jobs, and jobs exchange their ID tokens.
#include <catch2/catch.hpp>

#include "controller/domain/kernel/audit.h"
#include "tests/api/gate_world.h"
#include "tests/id_token_signer.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using berth::test::IdTokenSigner;

const std::string issuer_url = "https://token.actions.githubusercontent.com";
constexpr const char* exchange_grant = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr const char* id_token_type = "urn:ietf:params:oauth:token-type:id_token";

struct Fixture {
  Operator o;
  IdTokenSigner signer{jwk::Algorithm::rs256};
  int fetches = 0;
  int tokens_made = 0;
  std::string trusts = "/api/oauth/my-apps/" + o.app.id + "/trusts";

  Fixture() {
    o.g.services.memory.issuer_keys = std::make_shared<oauth::IssuerKeys>(
        o.g.world.clock,
        [this](const std::string& url) {
          ++fetches;
          return url.ends_with("/keys")
                     ? signer.key_set().dump()
                     : json{{"issuer", issuer_url}, {"jwks_uri", issuer_url + "/keys"}}.dump();
        },
        oauth::IssuerSchemes::loopback_too);
  }
  Answered list_issuer(const std::string& issuer = issuer_url, const std::string& kind = "github") {
    return o.g.ask("POST", "/api/internal/issuers", o.g.admin,
                   json{{"issuer", issuer}, {"name", "GitHub Actions"}, {"kind", kind}}.dump());
  }
  static json order() {
    return {{"issuer", issuer_url},
            {"audience", "https://api.example.org"},
            {"claims", {{"repository_id", "123"}, {"ref", json::array({"refs/heads/main"})}}},
            {"scopes", json::array({"deploy:manage"})}};
  }
  Answered trust(const json& body = order()) {
    return o.g.ask("POST", trusts, {bearer(o.jwt)}, body.dump());
  }
  std::string id_token(const json& changes = json::object()) {
    const std::int64_t now =
        std::chrono::floor<std::chrono::seconds>(o.g.world.clock.now()).time_since_epoch().count();
    json claims = {{"iss", issuer_url},
                   {"aud", "https://api.example.org"},
                   {"sub", "repo:acme/shop"},
                   {"jti", std::to_string(++tokens_made)},
                   {"iat", now},
                   {"exp", now + 300},
                   {"repository_id", "123"},
                   {"ref", "refs/heads/main"}};
    claims.merge_patch(changes);
    return signer.sign(claims);
  }
  Answered exchange(const std::string& token, const json& changes = json::object()) {
    json body = {{"grant_type", exchange_grant},
                 {"subject_token", token},
                 {"subject_token_type", id_token_type},
                 {"audience", o.app.client_id}};
    body.merge_patch(changes);
    return o.g.ask("POST", "/api/oauth/token", {}, body.dump());
  }
  std::string deployment(const std::string& name) {
    return o.g.ask("POST", "/api/deploy/apps", {o.token}, o.order(name)).body.at("id");
  }
};

TEST_CASE("an admin lists issuers, and nobody else") {
  Fixture f;
  const auto listed = f.list_issuer();
  REQUIRE(listed.status == 201);
  const json issuer = listed.body.at("issuer");
  CHECK(issuer.at("issuer") == issuer_url);
  CHECK(issuer.at("kind") == "github");
  CHECK(issuer.at("jwks_uri").is_null());
  CHECK(f.list_issuer().error() == "422 validation_failed");
  CHECK(f.list_issuer("http://gitlab.example.org").error() == "422 validation_failed");
  CHECK(f.list_issuer("https://gitlab.example.org", "gitea").error() == "422 validation_failed");
  CHECK(f.list_issuer("http://127.0.0.1:9000", "other").status == 201);
  const auto all = f.o.g.ask("GET", "/api/internal/issuers", f.o.g.admin);
  CHECK(all.body.at("issuers").size() == 2);
  CHECK(f.o.g.ask("GET", "/api/internal/issuers", {bearer(f.o.jwt)}).status == 403);
  const std::string one = "/api/internal/issuers/" + issuer.at("id").get<std::string>();
  CHECK(f.o.g.ask("DELETE", one, f.o.g.admin).status == 200);
  CHECK(f.o.g.ask("DELETE", one, f.o.g.admin).error() == "404 issuer_not_found");
}

TEST_CASE("in production an issuer on this machine can't be listed") {
  Fixture f;
  f.o.g.services.environment = Environment::production;
  CHECK(f.list_issuer("http://127.0.0.1:9000", "other").error() == "422 validation_failed");
}

TEST_CASE("an owner makes, lists and deletes trusts") {
  Fixture f;
  CHECK(f.trust().error() == "422 validation_failed");  // no issuer is listed
  f.list_issuer();
  const auto made = f.trust();
  REQUIRE(made.status == 201);
  CHECK_FALSE(made.body.contains("warnings"));
  const json trust = made.body.at("trust");
  CHECK(trust.at("name") == "GitHub Actions");
  CHECK(trust.at("claims") ==
        json{{"repository_id", json::array({"123"})}, {"ref", json::array({"refs/heads/main"})}});
  CHECK(trust.at("deployments").is_null());
  CHECK(trust.at("scopes") == json::array({"deploy:manage"}));
  CHECK(trust.at("last_used_at").is_null());
  CHECK(f.o.g.ask("GET", f.trusts, {bearer(f.o.jwt)}).body.at("trusts") == json::array({trust}));

  json body = Fixture::order();
  body["claims"] = {{"repository", "acme/shop"}};
  CHECK(f.trust(body).error() == "422 validation_failed");
  body["claims"] = {{"repository_id", "123"}, {"ref", "refs/heads/*"}};
  CHECK(f.trust(body).error() == "422 validation_failed");
  body["allow_wildcards"] = true;
  const auto warned = f.trust(body);
  CHECK(warned.status == 201);
  CHECK(warned.body.at("warnings").size() == 1);
  body = Fixture::order();
  body["deployments"] = json::array({"01936f5e-7c1a-7000-8000-0000000000ff"});
  CHECK(f.trust(body).error() == "404 deployment_not_found");
  body["deployments"] = json::array();
  CHECK(f.trust(body).error() == "422 validation_failed");

  const auto eve = bearer(f.o.g.world.jwt(f.o.g.world.verified_user("eve")));
  const std::string one = f.trusts + "/" + trust.at("id").get<std::string>();
  for (const auto& [method, path] :
       {std::pair("GET", f.trusts), std::pair("POST", f.trusts), std::pair("DELETE", one)})
    CHECK(f.o.g.ask(method, path, {eve}, Fixture::order().dump()).status == 403);
  CHECK(f.o.g.ask("DELETE", one, {bearer(f.o.jwt)}).body.at("id") == trust.at("id"));
  CHECK(f.o.g.ask("DELETE", one, {bearer(f.o.jwt)}).error() == "404 trust_not_found");
  // Who gave others access stays known.
  for (const char* action : {"trust.create", "trust.delete"}) {
    const auto found = f.o.g.world.read([&](db::Tx& tx) {
      return audit::list(tx, {.action = action}, {.page = 1, .page_size = 1}).items;
    });
    REQUIRE(found.size() == 1);
    CHECK(found.front().actor == f.o.user.id);
  }
}

TEST_CASE("a job exchanges its ID token, without a secret, for a token that ends with its trust") {
  Fixture f;
  f.list_issuer();
  const json trust = f.trust().body.at("trust");
  const auto given = f.exchange(f.id_token());
  REQUIRE(given.status == 200);
  CHECK(given.body.at("token_type") == "Bearer");
  CHECK(given.body.at("issued_token_type") == "urn:ietf:params:oauth:token-type:access_token");
  CHECK(given.body.at("expires_in") == 900);
  CHECK(given.body.at("scope") == "deploy:manage");
  CHECK_FALSE(given.body.contains("refresh_token"));
  CHECK(given.header("Cache-Control") == "no-store");
  const Header job = bearer(given.body.at("access_token"));
  CHECK(f.o.g.ask("POST", "/api/deploy/apps", {job}, f.o.order("shop")).status == 201);
  CHECK(f.o.g.ask("GET", "/api/deploy/apps", {job}).status == 200);
  // It is no login of the owner.
  CHECK(f.o.g.ask("GET", f.trusts, {job}).status == 401);
  CHECK(f.o.g.ask("GET", "/api/external/points/balance", {job}).error() ==
        "403 insufficient_scope");
  f.o.g.ask("DELETE", f.trusts + "/" + trust.at("id").get<std::string>(), {bearer(f.o.jwt)});
  CHECK(f.o.g.ask("GET", "/api/deploy/apps", {job}).error() == "401 token_revoked");
  CHECK(f.fetches == 2);
}

TEST_CASE("the token of a trust in one deployment is of no use to another one") {
  Fixture f;
  f.list_issuer();
  const std::string shop = f.deployment("shop");
  const std::string site = f.deployment("site");
  json body = Fixture::order();
  body["deployments"] = json::array({shop});
  CHECK(f.trust(body).body.at("trust").at("deployments") == json::array({shop}));
  const Header job = bearer(f.exchange(f.id_token()).body.at("access_token"));
  CHECK(f.o.g.ask("GET", "/api/deploy/apps/" + shop, {job}).status == 200);
  CHECK(f.o.g.ask("GET", "/api/deploy/apps/" + site, {job}).error() == "403 forbidden");
  CHECK(f.o.g.ask("DELETE", "/api/deploy/apps/" + site, {job}).error() == "403 forbidden");
  CHECK(f.o.g.ask("POST", "/api/deploy/apps", {job}, f.o.order("more")).error() == "403 forbidden");
}

TEST_CASE("what isn't an exchange that berth makes is refused, as RFC 8693 has it") {
  Fixture f;
  f.list_issuer();
  f.trust();
  const auto refused = [&](const json& changes) {
    return f.exchange(f.id_token(), changes).error();
  };
  CHECK(refused({{"subject_token_type", "urn:ietf:params:oauth:token-type:saml2"}}) ==
        "400 invalid_request");
  CHECK(refused({{"subject_token_type", nullptr}}) == "400 invalid_request");
  CHECK(refused({{"requested_token_type", "urn:ietf:params:oauth:token-type:refresh_token"}}) ==
        "400 invalid_request");
  CHECK(refused({{"actor_token", "x"}}) == "400 invalid_request");
  CHECK(refused({{"audience", "client_unknown"}}) == "400 invalid_target");
  CHECK(refused({{"audience", nullptr}}) == "400 invalid_request");
  CHECK(refused({{"scope", "app:balance:read"}}) == "400 invalid_scope");
  CHECK(refused({{"client_id", f.o.app.client_id}, {"client_secret", "cs_live_wrong"}}) ==
        "401 invalid_client");
  CHECK(f.exchange("no token").error() == "400 invalid_request");
  CHECK(f.exchange(std::string(jwk::max_token_bytes + 1, 'x')).error() == "400 invalid_request");
  CHECK(f.exchange(f.id_token(), {{"subject_token_type", "urn:ietf:params:oauth:token-type:jwt"}})
            .status == 200);
  CHECK(f.exchange(f.id_token(), {{"audience", nullptr}, {"resource", f.o.app.client_id}}).status ==
        200);
  CHECK(
      f.exchange(f.id_token(), {{"audience", nullptr}, {"client_id", f.o.app.client_id}}).status ==
      200);
  CHECK(f.exchange(f.id_token(), {{"scope", "deploy:manage"}}).status == 200);
}

TEST_CASE("forged, foreign and used ID tokens give nothing, and fetch no keys of strangers") {
  Fixture f;
  f.list_issuer();
  CHECK(f.exchange(f.id_token()).error() == "400 invalid_request");  // the app trusts nobody
  f.trust();
  CHECK(f.exchange(f.id_token({{"iss", "https://evil.example.org"}})).error() ==
        "400 invalid_request");
  CHECK(f.fetches == 0);
  const std::string good = f.id_token();
  CHECK(f.exchange(good).status == 200);
  CHECK(f.exchange(good).error() == "400 invalid_request");
  const IdTokenSigner thief(jwk::Algorithm::rs256);
  const json claims = jwk::parse(f.id_token()).value().claims;
  CHECK(f.exchange(thief.sign(claims)).error() == "400 invalid_request");
  CHECK(f.exchange(f.signer.sign(claims, {{"kid", "other"}})).error() == "400 invalid_request");
  CHECK(f.exchange(f.signer.sign(claims, {{"alg", "none"}})).error() == "400 invalid_request");
  CHECK(f.exchange(f.signer.sign(claims, {{"alg", "ES256"}})).error() == "400 invalid_request");
  CHECK(f.exchange(f.id_token({{"aud", "sts.amazonaws.com"}})).error() == "400 invalid_request");
  CHECK(f.exchange(f.id_token({{"repository_id", "124"}})).error() == "400 invalid_request");
  CHECK(f.exchange(f.signer.sign(claims)).status == 200);
  CHECK(f.fetches == 2);
}

}  // namespace
