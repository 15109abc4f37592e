// Trusts in CI services, and the exchange of their ID tokens.
#include "controller/domain/oauth/trusts.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "controller/domain/kernel/audit.h"
#include "controller/domain/lifecycle/expiry.h"
#include "controller/domain/oauth/token_rows.h"
#include "tests/domain/world.h"
#include "tests/id_token_signer.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using nlohmann::json;
using Texts = std::vector<std::string>;

const std::string github = "https://token.actions.githubusercontent.com";
const std::string gitlab = "https://gitlab.example.org";
const std::string other = "https://ci.example.org";
const std::string audience = "https://api.example.org";

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app =
      world.approved_app(ada, {Scope::deploy_manage, Scope::app_balance_read, Scope::points_spend});
  IdTokenSigner signer{jwk::Algorithm::eddsa};
  int tokens_made = 0;

  Fixture() {
    list(github, oauth::IssuerKind::github);
    list(gitlab, oauth::IssuerKind::gitlab);
    list(other, oauth::IssuerKind::other);
  }
  oauth::Issuer list(const std::string& issuer, oauth::IssuerKind kind) {
    return world.write([&](db::Tx& tx) {
      return oauth::add_issuer(tx, {.issuer = issuer, .name = "CI", .kind = kind},
                               oauth::IssuerSchemes::only_https, "root");
    });
  }
  static oauth::TrustOrder order(const oauth::ClaimTexts& claims = {{"repository_id", {"123"}},
                                                                    {"ref", {"refs/heads/main"}}},
                                 const std::string& issuer = github) {
    return {.name = "",
            .issuer = issuer,
            .audience = audience,
            .claims = claims,
            .allow_wildcards = false,
            .deployments = {},
            .scopes = {"deploy:manage"}};
  }
  oauth::NewTrust trust(const oauth::TrustOrder& wanted) {
    return world.write([&](db::Tx& tx) { return oauth::create_trust(tx, app, wanted); });
  }
  std::string refused(const oauth::TrustOrder& wanted) {
    const Details wrong = details([&] { trust(wanted); });
    return wrong.empty() ? "" : wrong.begin()->first;
  }
  // What a job's ID token says. `changes` replaces claims; null removes one.
  json claims(const json& changes = json::object()) {
    const std::int64_t now =
        std::chrono::floor<std::chrono::seconds>(world.clock.now()).time_since_epoch().count();
    json all = {{"iss", github},
                {"aud", audience},
                {"sub", "repo:acme/shop:ref:refs/heads/main"},
                {"jti", "token " + std::to_string(++tokens_made)},
                {"iat", now},
                {"nbf", now},
                {"exp", now + 300},
                {"repository_id", "123"},
                {"repository", "acme/shop"},
                {"ref", "refs/heads/main"}};
    all.merge_patch(changes);
    return all;
  }
  oauth::VerifiedToken verified(const std::string& text) {
    const auto shown =
        world.read([&](db::Tx& tx) { return oauth::read_id_token(tx, app.client_id, text); });
    return oauth::verify_id_token(shown, signer.key(), world.clock.now());
  }
  oauth::Tokens exchange(const std::string& text, const std::optional<std::string>& scope = {}) {
    const auto token = verified(text);
    return world.write([&](db::Tx& tx) { return oauth::exchange_id_token(tx, token, scope); });
  }
  oauth::Tokens exchange(const json& changes = json::object()) {
    return exchange(signer.sign(claims(changes)));
  }
  // Why it is refused, as the security log says it; empty if it isn't.
  std::string refusal_of(const std::string& text) {
    try {
      exchange(text);
      return "";
    } catch (const Error& error) {
      CHECK(error.code == Code::invalid_request);
      REQUIRE(error.event);
      CHECK(error.event->kind == SecurityKind::token_rejected);
      return std::string(error.event->reason);
    }
  }
  std::string refusal_of(const json& changes) { return refusal_of(signer.sign(claims(changes))); }
  std::string check(const oauth::Tokens& tokens) {
    return refusal([&] { world.check(tokens.access_token); });
  }
  std::int64_t rows(const std::string& table) {
    return world.read([&](db::Tx& tx) { return tx.number("SELECT count(*) FROM " + table); });
  }
};

TEST_CASE("a trust has to name an id that stays, because names change hands") {
  Fixture f;
  CHECK(f.refused(f.order({{"repository", {"acme/shop"}}})) == "claims");
  CHECK(f.refused(f.order({{"sub", {"repo:acme/shop:ref:refs/heads/main"}}})) == "claims");
  CHECK(f.refused(f.order({{"environment", {"production"}}})) == "claims");
  CHECK(f.refused(f.order({})) == "claims");
  CHECK(f.refused(f.order({{"project_path", {"acme/shop"}}}, gitlab)) == "claims");
  CHECK(f.refused(f.order({{"repository_id", {"123"}}}, gitlab)) == "claims");
  CHECK(f.refused(f.order({{"project_id", {"7"}}}, other)) == "claims");
  CHECK(f.refused(f.order()).empty());
  CHECK(f.refused(f.order({{"repository_owner_id", {"9"}}})).empty());
  CHECK(f.refused(f.order({{"project_id", {"7"}}}, gitlab)).empty());
  CHECK(f.refused(f.order({{"namespace_id", {"7"}}}, gitlab)).empty());
  CHECK(f.refused(f.order({{"sub", {"job:7"}}}, other)).empty());
}

TEST_CASE("what a trust can't be is refused with the field") {
  Fixture f;
  CHECK(f.refused(f.order({{"sub", {"x"}}}, "https://evil.example.org")) == "issuer");
  for (const char* name : {"iss", "aud", "exp", "nbf", "iat", "jti"})
    CHECK(f.refused(f.order({{"repository_id", {"1"}}, {name, {"x"}}})) ==
          std::string("claims.") + name);
  CHECK(f.refused(f.order({{"repository_id", {"1"}}, {"a b", {"x"}}})) == "claims");
  CHECK(f.refused(f.order({{"repository_id", {}}})) == "claims.repository_id");
  CHECK(f.refused(f.order({{"repository_id", {""}}})) == "claims.repository_id");
  CHECK(f.refused(f.order({{"repository_id", Texts(oauth::max_texts_of_claim + 1, "1")}})) ==
        "claims.repository_id");
  CHECK(f.refused(
            f.order({{"repository_id", {std::string(oauth::max_claim_text_length + 1, '1')}}})) ==
        "claims.repository_id");
  oauth::ClaimTexts many = {{"repository_id", {"1"}}};
  for (std::size_t i = 0; i < oauth::max_claims; ++i) many["c" + std::to_string(i)] = {"x"};
  CHECK(f.refused(f.order(many)) == "claims");
  const auto with_scopes = [&](const Texts& scopes) {
    auto wanted = f.order();
    wanted.scopes = scopes;
    return f.refused(wanted);
  };
  CHECK(with_scopes({}) == "scopes");
  CHECK(with_scopes({"deploy:nothing"}) == "scopes");
  CHECK(with_scopes({"campaigns:manage"}) == "scopes");  // not approved
  CHECK(with_scopes({"points:spend"}) == "scopes");
  CHECK(with_scopes({"deploy:manage", "app:balance:read"}).empty());
  auto wanted = f.order();
  wanted.audience = "";
  CHECK(f.refused(wanted) == "audience");
  for (int i = 1; i < oauth::max_trusts; ++i) f.trust(f.order());
  CHECK(refusal([&] { f.trust(f.order()); }) == "409 invalid_state");
}

TEST_CASE("a wildcard is asked for, stands at the end, and is warned of") {
  Fixture f;
  auto wanted = f.order({{"repository_id", {"123"}}, {"ref", {"refs/heads/release/*"}}});
  CHECK(f.refused(wanted) == "claims.ref");
  wanted.allow_wildcards = true;
  const auto made = f.trust(wanted);
  REQUIRE(made.warnings.size() == 1);
  CHECK(made.warnings[0].find("claims.ref") == 0);
  CHECK(made.warnings[0].find("refs/heads/release/") != std::string::npos);
  CHECK(f.refusal_of(json{{"ref", "refs/heads/release/1"}}).empty());
  CHECK(f.refusal_of(json{{"ref", "refs/heads/release"}}) == "no_trust");
  CHECK(f.refusal_of(json{{"ref", "refs/heads/main"}}) == "no_trust");
  for (const char* text : {"*", "*/main", "refs/*/main", "refs/**"}) {
    wanted.claims["ref"] = {text};
    CHECK(f.refused(wanted) == "claims.ref");
  }
  wanted.claims = {{"repository_id", {"12*"}}};
  CHECK(f.refused(wanted) == "claims.repository_id");
}

TEST_CASE("a trust in all jobs of a project, or all projects of an owner, is warned of") {
  Fixture f;
  CHECK(f.trust(f.order()).warnings.empty());
  CHECK(f.trust(f.order({{"repository_id", {"123"}}})).warnings ==
        Texts{"every job on every branch is trusted; name environment or ref to trust only some"});
  CHECK(f.trust(f.order({{"repository_owner_id", {"9"}}, {"environment", {"production"}}}))
            .warnings ==
        Texts{"every project of the owner is trusted, also new ones; name repository_id to trust "
              "only one"});
  const auto named = f.trust(
      f.order({{"project_id", {"7"}}, {"project_path", {"a/b"}}, {"ref", {"main"}}}, gitlab));
  CHECK(named.warnings ==
        Texts{"claims.project_path is a name or contains one: once it changes, no "
              "token is accepted"});
  CHECK(f.trust(f.order({{"sub", {"job:7"}}}, other)).warnings.empty());
}

TEST_CASE("a job gets a token of the app for 15 minutes, with the trust's scopes and deployments") {
  Fixture f;
  auto wanted = f.order();
  wanted.deployments = {"01936f5e-7c1a-7000-8000-000000000005"};
  const auto made = f.trust(wanted).trust;
  CHECK(made.name == "CI");
  CHECK_FALSE(made.last_used_at);
  const auto tokens = f.exchange();
  CHECK(tokens.access_token.starts_with("at_live_"));
  CHECK(tokens.refresh_token.empty());
  CHECK(tokens.access_token_expires_at == f.world.clock.now() + 15min);
  const auto caller = f.world.check(tokens.access_token);
  CHECK(caller.app_id == f.app.id);
  CHECK(caller.user_id == f.ada.id);
  CHECK(caller.owns_app);
  CHECK_FALSE(caller.first_party);
  CHECK(caller.scopes == ScopeSet{Scope::deploy_manage});
  CHECK(caller.deployments == wanted.deployments);
  const auto listed = f.world.read([&](db::Tx& tx) { return oauth::trusts(tx, f.app.id); });
  REQUIRE(listed.size() == 1);
  CHECK(listed[0].last_used_at == f.world.clock.now());
  CHECK(listed[0].claims == wanted.claims);
  CHECK(listed[0].deployments == wanted.deployments);
  const auto entries = f.world.read([&](db::Tx& tx) {
    return audit::list(tx, {.action = "trust.use"}, {.page = 1, .page_size = 10}).items;
  });
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].actor == "trust:" + made.id);
  CHECK(entries[0].target == f.app.id);
  const json said = json::parse(entries[0].details);
  CHECK(said.at("issuer") == github);
  CHECK(said.at("claims").at("sub") == "repo:acme/shop:ref:refs/heads/main");
  CHECK(said.at("claims").at("repository_id") == "123");
  CHECK(said.at("claims").at("ref") == "refs/heads/main");
  f.world.clock.advance(15min);
  CHECK(f.check(tokens) == "401 token_expired");
}

TEST_CASE("the token of a trust in all deployments may use all") {
  Fixture f;
  f.trust(f.order());
  CHECK(f.world.check(f.exchange().access_token).deployments.empty());
}

TEST_CASE("an ID token that differs from the trust, or isn't valid, is refused") {
  Fixture f;
  f.trust(f.order());
  const std::int64_t now =
      std::chrono::floor<std::chrono::seconds>(f.world.clock.now()).time_since_epoch().count();
  const std::pair<json, std::string> cases[] = {
      {{{"iss", "https://evil.example.org"}}, "unknown_issuer"},
      {{{"iss", nullptr}}, "unknown_issuer"},
      {{{"iss", github + std::string(1, '\0')}}, "unknown_issuer"},
      {{{"iss", gitlab}}, "no_trust"},
      {{{"aud", "https://other.example.org"}}, "no_trust"},
      {{{"aud", nullptr}}, "no_trust"},
      {{{"aud", json::array({"https://other.example.org"})}}, "no_trust"},
      {{{"repository_id", "1234"}}, "no_trust"},
      {{{"repository_id", nullptr}}, "no_trust"},
      {{{"repository_id", json::array({"123"})}}, "no_trust"},
      {{{"ref", "refs/heads/Main"}}, "no_trust"},
      {{{"exp", now - 60}}, "expired"},
      {{{"exp", nullptr}}, "malformed"},
      {{{"exp", "soon"}}, "malformed"},
      {{{"exp", -1}}, "malformed"},
      {{{"exp", 1e300}}, "malformed"},
      {{{"iat", nullptr}}, "malformed"},
      {{{"iat", now + 61}}, "not_yet_valid"},
      {{{"nbf", now + 61}}, "not_yet_valid"},
      {{{"iat", now - 24 * 3600 - 60}, {"nbf", nullptr}, {"exp", now + 3600}}, "expired"},
      {{{"jti", nullptr}}, "malformed"},
      {{{"jti", 7}}, "malformed"},
      {{{"jti", std::string(257, 'x')}}, "malformed"},
  };
  for (const auto& [changes, reason] : cases) {
    CAPTURE(changes.dump());
    CHECK(f.refusal_of(changes) == reason);
  }
  const json fine[] = {{{"exp", now - 59}},
                       {{"iat", now + 60}, {"nbf", now + 60}},
                       {{"nbf", nullptr}},
                       {{"exp", double(now) + 0.5}},
                       {{"aud", json::array({"x", audience})}},
                       {{"repository_id", 123}},
                       {{"iat", now - 24 * 3600}, {"exp", now + 3600}}};
  for (const json& changes : fine) {
    CAPTURE(changes.dump());
    CHECK(f.refusal_of(changes).empty());
  }
  CHECK(f.refusal_of(std::string("no token")) == "malformed");
  CHECK(f.refusal_of(f.signer.sign(f.claims(), {{"alg", "none"}})) == "malformed");
  CHECK(f.refusal_of(f.signer.sign(f.claims(), {{"alg", "HS256"}})) == "malformed");
  const IdTokenSigner thief(jwk::Algorithm::eddsa);
  CHECK(f.refusal_of(thief.sign(f.claims())) == "wrong_signature");
  const auto shown = f.world.read([&](db::Tx& tx) {
    return oauth::read_id_token(tx, f.app.client_id, f.signer.sign(f.claims()));
  });
  CHECK(refusal([&] { oauth::verify_id_token(shown, {}, f.world.clock.now()); }) ==
        "400 invalid_request");
  CHECK(refusal([&] {
          f.world.read([&](db::Tx& tx) {
            return oauth::read_id_token(tx, "client_unknown", f.signer.sign(f.claims()));
          });
        }) == "400 invalid_target");
}

TEST_CASE("an ID token works once, until it isn't accepted any more") {
  Fixture f;
  f.trust(f.order());
  const std::string text = f.signer.sign(f.claims());
  CHECK(f.refusal_of(text).empty());
  CHECK(f.refusal_of(text) == "replayed");
  // The same id in another token, and the same token of an issuer with the same ids.
  CHECK(f.refusal_of(json{{"jti", "token 1"}}) == "replayed");
  f.trust(f.order({{"project_id", {"7"}}}, gitlab));
  CHECK(f.refusal_of(json{{"iss", gitlab}, {"project_id", "7"}, {"jti", "token 1"}}).empty());
  CHECK(f.rows("used_id_tokens") == 2);
  const auto clean = [&] {
    while (f.world.read([](db::Tx& tx) { return expiry::is_anything_due(tx); }))
      f.world.write([](db::Tx& tx) { return expiry::remove_some(tx, 100); });
  };
  f.world.clock.advance(300s + 59s);
  clean();
  CHECK(f.rows("used_id_tokens") == 2);
  CHECK(f.refusal_of(text) == "replayed");
  f.world.clock.advance(1s);
  clean();
  CHECK(f.rows("used_id_tokens") == 0);
  CHECK(f.refusal_of(text) == "expired");
  // Nothing of the tokens stays, either.
  f.world.clock.advance(2h);
  clean();
  CHECK(f.rows("token_families") == 0);
  CHECK(f.rows("access_tokens") == 0);
  CHECK(f.rows("grants") == 1);
}

TEST_CASE("a refused exchange uses no ID token up") {
  Fixture f;
  f.trust(f.order());
  const std::string text = f.signer.sign(f.claims());
  CHECK(refusal([&] { f.exchange(text, "app:balance:read"); }) == "400 invalid_scope");
  CHECK(refusal([&] { f.exchange(text, "nonsense"); }) == "400 invalid_scope");
  CHECK(f.rows("used_id_tokens") == 0);
  CHECK(f.exchange(text, "deploy:manage").scopes == ScopeSet{Scope::deploy_manage});
}

TEST_CASE("the oldest trust that accepts the token and has the scopes is used") {
  Fixture f;
  f.trust(f.order());
  f.world.clock.advance(1s);
  auto wider = f.order();
  wider.scopes = {"deploy:manage", "app:balance:read"};
  const auto second = f.trust(wider).trust;
  CHECK(f.exchange().scopes == ScopeSet{Scope::deploy_manage});
  CHECK(f.exchange(f.signer.sign(f.claims()), "app:balance:read").scopes ==
        ScopeSet{Scope::app_balance_read});
  const auto listed = f.world.read([&](db::Tx& tx) { return oauth::trusts(tx, f.app.id); });
  CHECK(listed.at(1).id == second.id);
  CHECK(listed.at(1).last_used_at);
}

TEST_CASE("deleting a trust, its issuer, or the app, and suspending it, end its tokens at once") {
  Fixture f;
  const auto first = f.trust(f.order()).trust;
  auto other_ref = f.order({{"repository_id", {"123"}}, {"ref", {"refs/heads/next"}}});
  f.trust(other_ref);
  const auto gone = f.exchange();
  const auto kept = f.exchange(json{{"ref", "refs/heads/next"}});
  CHECK(refusal([&] {
          f.world.write([&](db::Tx& tx) { oauth::remove_trust(tx, "another app", first.id); });
        }) == "404 trust_not_found");
  f.world.write([&](db::Tx& tx) { oauth::remove_trust(tx, f.app.id, first.id); });
  CHECK(f.check(gone) == "401 token_revoked");
  CHECK(f.check(kept).empty());
  CHECK(f.refusal_of(json::object()) == "no_trust");
  CHECK(refusal([&] {
          f.world.write([&](db::Tx& tx) { oauth::remove_trust(tx, f.app.id, first.id); });
        }) == "404 trust_not_found");

  f.world.write([&](db::Tx& tx) { apps::suspend(tx, f.app.id, "root"); });
  CHECK(f.check(kept) == "403 account_suspended");
  CHECK(refusal([&] {
          f.exchange(json{{"ref", "refs/heads/next"}});
        }) == "400 unauthorized_client");
  f.world.write([&](db::Tx& tx) { apps::reactivate(tx, f.app.id, "root"); });
  CHECK(f.check(kept).empty());

  const auto issuer =
      f.world.read([&](db::Tx& tx) { return oauth::find_issuer(tx, github).value(); });
  f.world.write([&](db::Tx& tx) { oauth::remove_issuer(tx, issuer.id, "root"); });
  CHECK(f.check(kept) == "401 token_revoked");
  CHECK(f.refusal_of(json{{"ref", "refs/heads/next"}}) == "unknown_issuer");
  CHECK(refusal([&] {
          f.world.write([&](db::Tx& tx) { oauth::remove_issuer(tx, issuer.id, "root"); });
        }) == "404 issuer_not_found");
  f.list(github, oauth::IssuerKind::github);
  const auto last = f.exchange(json{{"ref", "refs/heads/next"}});
  const auto app = f.world.find_app(f.app.id);
  f.world.write([&](db::Tx& tx) { apps::remove(tx, app); });
  CHECK(f.check(last) == "401 token_revoked");
  CHECK(f.rows("app_trusts") == 0);
}

TEST_CASE("a trust gives few tokens at a time, so that the app's other tokens stay") {
  static_assert(oauth::max_trusts * oauth::max_living_tokens < oauth::max_families_per_grant);
  Fixture f;
  f.trust(f.order());
  for (int i = 0; i < oauth::max_living_tokens; ++i) f.exchange();
  CHECK(refusal([&] { f.exchange(); }) == "429 rate_limited");
  f.world.clock.advance(15min);
  CHECK(refusal([&] { f.exchange(); }).empty());
}

TEST_CASE("expired tokens of jobs don't push out what the app's owner has") {
  Fixture f;
  const auto in = [&](auto&& work) { return f.world.write(work); };
  const std::string grant =
      in([&](db::Tx& tx) { return oauth::consent(tx, f.app.id, f.ada.id, {}); });
  const auto open = [&](Duration lifetime) {
    return in([&](db::Tx& tx) {
      const auto family = oauth::open_family(tx, grant, {Scope::deploy_manage}, lifetime);
      return oauth::add_access_token(tx, family.id, family.end);
    });
  };
  const std::string kept = open(24h * 30);
  // One opening in 16 looks for what is too much.
  for (int i = 1; i <= oauth::max_families_per_grant + 1'000; ++i) {
    open(oauth::trusted_token_lifetime);
    if (i % oauth::max_living_tokens == 0) f.world.clock.advance(15min);
  }
  CHECK(refusal([&] { f.world.check(kept); }).empty());
}

TEST_CASE("a trust may have a part of deploy:manage, which the app is approved for as a whole") {
  Fixture f;
  auto reading = f.order();
  reading.scopes = {"deploy:read"};
  f.trust(reading);
  CHECK(f.exchange().scopes == ScopeSet{Scope::deploy_read});
  CHECK(refusal([&] { f.exchange(f.signer.sign(f.claims()), "logs:read"); }) ==
        "400 invalid_scope");
  f.trust(f.order());
  const auto logs = f.exchange(f.signer.sign(f.claims()), "logs:read");
  CHECK(logs.scopes == ScopeSet{Scope::logs_read});
  CHECK(f.world.check(logs.access_token).scopes == ScopeSet{Scope::logs_read});
}

TEST_CASE("an issuer is an https URL without a query, and is listed once") {
  Fixture f;
  const auto refused = [&](const std::string& issuer, oauth::IssuerSchemes schemes) {
    return oauth::refuse_issuer_url(issuer, schemes).has_value();
  };
  using enum oauth::IssuerSchemes;
  for (const char* good : {"https://gitlab.com", "https://ci.example.org:8443/realms/a/"}) {
    CHECK_FALSE(refused(good, only_https));
    CHECK_FALSE(refused(good, loopback_too));
  }
  for (const char* bad :
       {"", "gitlab.com", "http://gitlab.com", "ftp://gitlab.com", "https://user@gitlab.com",
        "https://gitlab.com?x", "https://gitlab.com#x", "https://git lab.com"}) {
    CHECK(refused(bad, only_https));
    CHECK(refused(bad, loopback_too));
  }
  CHECK(refused("http://127.0.0.1:9000", only_https));
  CHECK_FALSE(refused("http://127.0.0.1:9000", loopback_too));
  CHECK(details([&] { f.list(github, oauth::IssuerKind::other); }).contains("issuer"));
}

// What has_claims() promises, in a few words.
bool expected(const oauth::Trust& trust, const json& claims) {
  for (const auto& [name, texts] : trust.claims) {
    if (!claims.contains(name) || !claims.at(name).is_string()) return false;
    const std::string said = claims.at(name);
    bool is_one = false;
    for (const std::string& text : texts) {
      const std::string prefix = text.substr(0, text.size() - 1);
      is_one = is_one || said == text ||
               (trust.wildcards && text.back() == '*' && said.substr(0, prefix.size()) == prefix);
    }
    if (!is_one) return false;
  }
  return true;
}

TEST_CASE("claims match if each that the trust names is one of its texts") {
  const auto text = [] {
    std::string made = *rc::gen::element<std::string>("a", "ab");
    return *rc::gen::arbitrary<bool>() ? made + "*" : made;
  };
  const auto name = [] { return *rc::gen::element<std::string>("x", "y"); };
  CHECK(rc::check([&] {
    oauth::Trust trust;
    trust.wildcards = *rc::gen::arbitrary<bool>();
    for (int i = *rc::gen::inRange(1, 3); i > 0; --i)
      for (int j = *rc::gen::inRange(1, 3); j > 0; --j) trust.claims[name()].push_back(text());
    json claims = json::object();
    for (int i = *rc::gen::inRange(0, 5); i > 0; --i) claims[name()] = text();
    const bool is = oauth::has_claims(trust, claims);
    RC_ASSERT(is == expected(trust, claims));
  }));
}

TEST_CASE("a claim that has no single value matches nothing") {
  oauth::Trust trust;
  trust.claims = {{"x", {"1", "true", "null", "[\"1\"]", "1.0"}}};
  CHECK(oauth::has_claims(trust, {{"x", 1}}));
  CHECK(oauth::has_claims(trust, {{"x", true}}));
  for (const json& value : {json(), json::array({"1"}), json::object(), json(1.0), json(2)})
    CHECK_FALSE(oauth::has_claims(trust, {{"x", value}}));
  CHECK_FALSE(oauth::has_claims(trust, json::object()));
}

}  // namespace
