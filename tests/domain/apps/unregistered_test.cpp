// Clients that nobody has registered: their URLs and documents, what they get, and their end.
#include "controller/domain/apps/unregistered.h"

#include <catch2/catch.hpp>

#include "controller/domain/accounts/sessions.h"
#include "controller/domain/apps/built_in.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/expiry.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using apps::ClientUrls;
using nlohmann::json;

const std::string client_url = "https://editor.example.org/client.json";

TEST_CASE("URLs that can be a client_id") {
  for (const char* url :
       {"https://editor.example.org/client.json", "https://editor.example.org/",
        "https://editor.example.org:8443/a/b?c=d", "https://xn--4ca.example.org/c",
        "https://editor.example.org/..a/.well-known/c"}) {
    INFO(url);
    CHECK(apps::is_client_url(url));
    CHECK(apps::refuse_client_url(url, ClientUrls::only_https) == std::nullopt);
  }
  CHECK(apps::refuse_client_url("http://127.0.0.1:80/c", ClientUrls::loopback_too) == std::nullopt);
  CHECK_FALSE(apps::is_client_url("client_0123456789abcdef01234567"));
  CHECK_FALSE(apps::is_client_url("berth"));
}

TEST_CASE("URLs that can't") {
  for (const std::string& url : std::vector<std::string>{
           "http://editor.example.org/c", "http://127.0.0.1/c", "https://editor.example.org",
           "https://editor.example.org?c", "https://user@editor.example.org/c",
           "https://editor.example.org/c#d", "https://editor.example.org/a/../c",
           "https://editor.example.org/./c", "https://editor.example.org/a/%2E%2e",
           "https://editor.example.org/%zz", "https://192.0.2.1/c", "https://[2001:db8::1]/c",
           "https:///c", "https://editor.example.org/a b", "https://editor.example.org/\\c",
           "https://editor.example.org/" + std::string(apps::max_client_url_length, 'a')}) {
    INFO(url);
    CHECK(apps::refuse_client_url(url, ClientUrls::only_https));
  }
  CHECK(apps::refuse_client_url("http://editor.example.org/c", ClientUrls::loopback_too));
}

json description() {
  return {{"client_id", client_url},
          {"client_name", "Editor"},
          {"redirect_uris", {redirect_uri, "http://127.0.0.1/callback"}},
          {"grant_types", {"authorization_code", "refresh_token"}},
          {"token_endpoint_auth_method", "none"}};
}
// Returns why the document with these changes isn't taken; empty if it is.
std::string refused(const json& changes) {
  json changed = description();
  changed.merge_patch(changes);
  try {
    apps::read_client_document(client_url, changed.dump());
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST_CASE("a document says who the client is") {
  const auto read = apps::read_client_document(client_url, description().dump());
  CHECK(read.url == client_url);
  CHECK(read.name == "Editor");
  CHECK(read.redirect_uris == std::vector<std::string>{redirect_uri, "http://127.0.0.1/callback"});
  CHECK(refused({{"token_endpoint_auth_method", nullptr}}) == "");  // merge_patch removes it
  CHECK(refused({{"client_name", 1}, {"logo_uri", "x"}}) == "");
  // What can't be used is left out, and what would deceive isn't shown.
  json other = description();
  other["redirect_uris"].push_back("http://game.example.org/");
  other["redirect_uris"].push_back(5);
  other["client_name"] = "\u202erotidE";
  const auto cleaned = apps::read_client_document(client_url, other.dump());
  CHECK(cleaned.redirect_uris == read.redirect_uris);
  CHECK(cleaned.name.empty());
  other["client_name"] = std::string(200, 'x');
  CHECK(apps::read_client_document(client_url, other.dump()).name ==
        std::string(apps::max_name_length, 'x'));
}

TEST_CASE("documents that aren't taken") {
  CHECK(refused({{"client_id", client_url + "/"}}) == "has another client_id than its URL");
  CHECK(refused({{"client_id", nullptr}}) == "has another client_id than its URL");
  CHECK(refused({{"client_secret", "x"}}) == "contains a secret, which everybody can read there");
  CHECK(refused({{"client_secret_expires_at", 0}}) != "");
  for (const char* method : {"client_secret_basic", "client_secret_post", "private_key_jwt"})
    CHECK(refused({{"token_endpoint_auth_method", method}}) != "");
  CHECK(refused({{"grant_types", {"client_credentials"}}}) ==
        "doesn't ask for authorization codes");
  CHECK(refused({{"response_types", {"token"}}}) == "doesn't ask for authorization codes");
  CHECK(refused({{"redirect_uris", nullptr}}) == "has no list redirect_uris");
  CHECK(refused({{"redirect_uris", json::array()}}) != "");
  CHECK(refused({{"redirect_uris", {"javascript:alert(1)"}}}) != "");
  CHECK(refused({{"redirect_uris", json(std::vector<std::string>(
                                       apps::max_document_redirect_uris + 1, redirect_uri))}}) !=
        "");
  CHECK(refused({{"padding", std::string(apps::max_document_bytes, 'x')}}) != "");
  for (const char* text : {"", "[]", "\"\"", "{", "null"})
    CHECK_THROWS_AS(apps::read_client_document(client_url, text), std::runtime_error);
}

struct Fixture {
  World world;
  accounts::User bob = world.verified_user("bob");
  accounts::Session session = world.log_in(bob);
  apps::ClientDocument document = apps::read_client_document(client_url, description().dump());

  Fixture() { world.write(apps::add_built_in); }

  oauth::AuthorizationRequest request(const std::string& scope = "openid") {
    return {.client_id = document.url,
            .redirect_uri = redirect_uri,
            .response_type = "code",
            .scope = scope,
            .code_challenge = base64url(sha256(code_verifier)),
            .code_challenge_method = "S256",
            .document = document};
  }
  std::expected<oauth::AuthorizationCode, Error> ask(const oauth::AuthorizationRequest& asked) {
    return world.write(
        [&](db::Tx& tx) { return oauth::authorize(tx, bob, asked, std::nullopt, session.id); });
  }
  std::string refused(const oauth::AuthorizationRequest& asked) {
    const auto code = ask(asked);
    return code ? "" : std::string(name(code.error().code));
  }
  std::optional<apps::App> client() {
    return world.read([&](db::Tx& tx) { return apps::find_by_client_id(tx, document.url); });
  }
  oauth::Tokens log_in() { return world.exchange(*client(), ask(request()).value().code).value(); }
  std::int64_t rows() {
    return world.read([](db::Tx& tx) {
      return tx.number(R"(SELECT count(*) FROM apps WHERE unregistered_until IS NOT NULL)");
    });
  }
  void expire() {
    world.write([](db::Tx& tx) {
      while (oauth::remove_old(tx, 100) > 0) {
      }
    });
  }
};

TEST_CASE("a client that isn't registered logs a user in as a public client") {
  Fixture f;
  CHECK(f.rows() == 0);
  const auto code = f.ask(f.request("openid profile email")).value();
  const auto client = f.client();
  REQUIRE(client);
  CHECK(client->unregistered);
  CHECK(client->is_public);
  CHECK_FALSE(client->session_tokens);
  CHECK(client->app_name == "editor.example.org");  // and not what it calls itself
  CHECK(client->app_description == "Editor");
  const auto tokens = f.world.exchange(*client, code.code).value();
  CHECK(tokens.scopes == ScopeSet::identity());
  CHECK(tokens.login);
  CHECK_FALSE(tokens.session_token);
  const auto fresh = f.world.refresh(*client, tokens.refresh_token).value();
  CHECK(f.world.check(fresh.access_token).unregistered);
  CHECK(f.world.check(fresh.access_token).scopes == ScopeSet::identity());
  CHECK(f.rows() == 1);
}

TEST_CASE("it gets nothing but a login") {
  Fixture f;
  for (const char* scope : {"profile:read", "openid points:read", "deploy:manage", "points:spend"})
    CHECK(f.refused(f.request(scope)) == "invalid_scope");
  CHECK(f.rows() == 0);
  f.ask(f.request("")).value();
  CHECK(f.world.exchange(*f.client(), f.ask(f.request("")).value().code).value().scopes ==
        ScopeSet{Scope::openid});
  CHECK(refusal([&] {
          f.world.write([&](db::Tx& tx) { oauth::client_credentials(tx, *f.client(), {}); });
        }) == "400 unauthorized_client");
}

TEST_CASE("without its document, or at another redirect URI, it is unknown") {
  Fixture f;
  f.log_in();
  auto asked = f.request();
  asked.document.reset();
  CHECK(refusal([&] { f.ask(asked).value(); }) == "400 invalid_request");
  asked = f.request();
  asked.redirect_uri = "https://game.example.org/callback2";
  CHECK(refusal([&] { f.ask(asked).value(); }) == "400 invalid_request");
  // The document counts, and not what was stored earlier.
  f.document.redirect_uris = {"https://editor.example.org/callback"};
  CHECK(refusal([&] { f.ask(f.request()).value(); }) == "400 invalid_request");
  asked = f.request();
  asked.redirect_uri = "https://editor.example.org/callback";
  CHECK(f.refused(asked) == "");
  CHECK(f.client()->redirect_uris == f.document.redirect_uris);
  f.document.redirect_uris = {"http://127.0.0.1/callback"};
  asked = f.request();
  asked.redirect_uri = "http://127.0.0.1:49152/callback";
  CHECK(f.refused(asked) == "");
}

TEST_CASE("its user is asked each time") {
  Fixture f;
  f.log_in();
  auto asked = f.request();
  asked.prompt = "none";
  CHECK(f.refused(asked) == "interaction_required");
}

TEST_CASE("an admin can suspend it, for good") {
  Fixture f;
  const auto tokens = f.log_in();
  f.world.write([&](db::Tx& tx) { apps::suspend(tx, f.client()->id, "root"); });
  CHECK(f.refused(f.request()) == "unauthorized_client");
  CHECK(refusal([&] { f.world.check(tokens.access_token); }) == "403 account_suspended");
  f.world.clock.advance(apps::unregistered_kept_for + 2h);
  f.expire();
  CHECK(f.rows() == 1);
  CHECK(f.refused(f.request()) == "unauthorized_client");
}

TEST_CASE("a client is forgotten 90 days after the last consent, with what it got") {
  Fixture f;
  f.world.policy.family_lifetime = std::chrono::days(400);
  f.log_in();
  const std::string id = f.client()->id;
  f.world.clock.advance(apps::unregistered_kept_for - 1h);
  f.expire();
  CHECK(f.rows() == 1);
  f.session = f.world.log_in(f.bob);
  auto tokens = f.log_in();  // again: 90 days from here
  CHECK(f.client()->id == id);
  f.world.clock.advance(std::chrono::days(29));
  tokens = f.world.refresh(f.client(), tokens.refresh_token).value();
  f.world.clock.advance(std::chrono::days(29));
  tokens = f.world.refresh(f.client(), tokens.refresh_token).value();
  f.world.clock.advance(std::chrono::days(29));
  tokens = f.world.refresh(f.client(), tokens.refresh_token).value();
  f.expire();
  CHECK(f.rows() == 1);
  f.world.clock.advance(std::chrono::days(3));
  CHECK(f.world.read([](db::Tx& tx) { return oauth::is_any_old(tx); }));
  f.expire();
  CHECK(f.rows() == 0);
  CHECK_FALSE(f.client());
  CHECK(refusal_of(f.world.refresh({}, tokens.refresh_token)) != "");
  // What is left of it is an id. Its consents go as those of deleted apps do.
  f.world.clock.advance(oauth::expired_kept_for + 1min);
  f.expire();
  f.world.read([&](db::Tx& tx) {
    CHECK(tx.number(R"(SELECT count(*) FROM grants WHERE app_id = $1)", id) == 0);
    CHECK(
        tx.number(R"(SELECT count(*) FROM apps WHERE id = $1 AND client_id = id AND app_name = '')",
                  id) == 1);
  });
  CHECK_FALSE(f.world.read([](db::Tx& tx) { return oauth::is_any_old(tx); }));
  // Somebody who allows it something later sees another client.
  f.session = f.world.log_in(f.bob);
  f.log_in();
  CHECK(f.client()->id != id);
}

TEST_CASE("a user connects 20 of them at most") {
  Fixture f;
  for (int i = 0; i < apps::max_unregistered_per_user; ++i) {
    f.document.url = "https://editor.example.org/" + std::to_string(i);
    CHECK(f.refused(f.request()) == "");
  }
  CHECK(f.refused(f.request()) == "");  // one of them again
  const std::string last = f.client()->id;
  f.document.url = client_url;
  CHECK(f.refused(f.request()) == "unauthorized_client");
  CHECK(f.rows() == apps::max_unregistered_per_user);
  f.world.write([&](db::Tx& tx) { connections::disconnect(tx, f.bob.id, last); });
  CHECK(f.refused(f.request()) == "");
}

}  // namespace
