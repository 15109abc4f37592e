// Guests over the API: an app makes one, who plays, has friends and becomes an account.
#include "controller/domain/accounts/guests.h"

#include <catch2/catch.hpp>

#include "controller/base/crypto.h"
#include "controller/domain/oauth/guest_tokens.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

struct Game {
  GateWorld g;
  accounts::User owner = g.world.verified_user("ada");
  apps::AppWithSecret registered = g.world.new_app(owner);
  json credentials = {{"client_id", registered.app.client_id},
                      {"client_secret", registered.client_secret}};

  Answered make() { return g.ask("POST", "/api/auth/guests", {}, credentials.dump()); }
  json guest() {
    const Answered made = make();
    REQUIRE(made.status == 201);
    return made.body;
  }
  Answered upgrade(const json& guest, const std::string& name) {
    return g.ask("POST", "/api/auth/guests/upgrade", {bearer(guest.at("access_token"))},
                 json{{"email", name + "@example.org"},
                      {"username", name},
                      {"password", "correct horse battery"}}
                     .dump());
  }
  std::string ask(const std::string& method, const std::string& path, const Header& header,
                  const std::string& body = "") {
    const Answered answer = g.ask(method, path, {header}, body);
    return answer.status < 400 ? std::to_string(answer.status) : answer.error();
  }
};

TEST_CASE("an app makes a guest with its own credentials") {
  Game game;
  const Answered made = game.make();
  REQUIRE(made.status == 201);
  const json& user = made.body.at("user");
  CHECK(user.at("is_guest") == true);
  CHECK(user.at("email") == user.at("id").get<std::string>() + "@guest.invalid");
  CHECK(user.at("points") == 0);
  CHECK(made.body.at("player_id") == user.at("id"));
  CHECK(made.body.at("token_type") == "Bearer");
  CHECK(made.body.at("expires_in") == 3600);
  CHECK(made.body.at("scope") == "profile:read points:read");
  CHECK(made.body.at("refresh_token").get<std::string>().starts_with("rt_live_"));
  CHECK(made.body.at("session_token").get<std::string>().starts_with("st_live_"));
  CHECK(made.header("Cache-Control") == "no-store");
  const Header token = bearer(made.body.at("access_token"));
  const Answered profile = game.g.ask("GET", "/api/external/profile", {token});
  CHECK(profile.body.at("user").at("id") == user.at("id"));
  CHECK(profile.body.at("user").at("is_guest") == true);
  CHECK(game.ask("GET", "/api/external/points/balance", token) == "200");
}

TEST_CASE("a guest can also be made with HTTP Basic and with a form") {
  Game game;
  const std::string id = game.registered.app.client_id, secret = game.registered.client_secret;
  CHECK(game.ask("POST", "/api/auth/guests",
                 {"Authorization", "Basic " + base64(id + ":" + secret)}, "{}") == "201");
  CHECK(game.ask("POST", "/api/auth/guests", {"Content-Type", "application/x-www-form-urlencoded"},
                 "client_id=" + id + "&client_secret=" + secret) == "201");
}

TEST_CASE("without the app's credentials nobody makes guests") {
  Game game;
  CHECK(game.g.ask("POST", "/api/auth/guests", {}, "{}").error() == "401 invalid_client");
  game.credentials["client_secret"] = "wrong";
  CHECK(game.make().error() == "401 invalid_client");
}

TEST_CASE("a guest has the app's tokens and no others") {
  Game game;
  const json guest = game.guest();
  const Header token = bearer(guest.at("access_token"));
  for (const char* path : {"/api/auth/me", "/api/auth/sessions", "/api/oauth/my-apps",
                           "/api/points/balance", "/api/auth/invitations"})
    CHECK(game.ask("GET", path, token) == "401 wrong_token_type");
  CHECK(game.ask("GET", "/api/deploy/apps", token) == "403 insufficient_scope");
  CHECK(game.ask("POST", "/api/external/points/transfer", token,
                 json{{"to_user_id", game.owner.id}, {"amount", 1}}.dump()) ==
        "403 insufficient_scope");
  CHECK(game.ask("GET", "/api/external/ads/serve?surface_type=banner", token) ==
        "404 no_ad_available");
}

TEST_CASE("an app reports no views of its guests, not even of its owner's own campaigns") {
  Game game;
  const Header token = bearer(game.guest().at("access_token"));
  const std::string report =
      json{{"campaign_id", game.owner.id}, {"event_type", "impression"}}.dump();
  CHECK(game.ask("POST", "/api/external/ads/event", token, report) == "403 guest_account");
  // Of others they are looked at.
  const auto bob = game.g.world.verified_user("bob");
  const Header player = bearer(game.g.world.tokens(game.registered.app, bob).access_token);
  CHECK(game.ask("POST", "/api/external/ads/event", player, report) == "404 campaign_not_found");
}

TEST_CASE("a guest has friends, but writes no messages") {
  Game game;
  const json guest = game.guest();
  const auto bob = game.g.world.verified_user("bob");
  const Header session = bearer(guest.at("session_token"));
  const std::string wanted = json{{"user_id", bob.id}}.dump();
  CHECK(game.ask("POST", "/api/social/friends/requests", session, wanted) == "201");
  CHECK(game.ask("POST", "/api/social/chat/channels/" + bob.id + "/messages", session,
                 json{{"body", "hello"}}.dump()) == "403 email_not_verified");
  const Header unverified = bearer(game.g.world.jwt(game.g.world.new_user("carol")));
  CHECK(game.ask("POST", "/api/social/friends/requests", unverified, wanted) ==
        "403 email_not_verified");
}

TEST_CASE("a guest may store little about friends in a day") {
  Game game;
  const Header session = bearer(game.guest().at("session_token"));
  const auto bob = game.g.world.verified_user("bob");
  const std::string wanted = json{{"user_id", bob.id}}.dump();
  std::string last;
  int stored = 0;
  for (; stored <= write_budgets::people_of_guest.rows && last != "429 rate_limited"; ++stored) {
    last = game.ask("POST", "/api/social/blocks", session, wanted);
    game.ask("DELETE", "/api/social/blocks/" + bob.id, session);
  }
  CHECK(stored > 5);
  CHECK(last == "429 rate_limited");
}

TEST_CASE(
    "an approved app may take points of its guests as of others, and store no more for them") {
  Game game;
  const auto app = game.g.world.approved_app(game.owner, {Scope::points_spend});
  const oauth::Guest guest =
      game.g.world.write([&](db::Tx& tx) { return oauth::add_guest(tx, app); });
  game.g.world.mint(ledger::user_account(guest.user.id), 10);
  const Header token = bearer(guest.tokens.access_token);
  const auto start = [&] { return game.ask("POST", "/api/auth/guests/session", token); };
  CHECK(start() == "200");
  const write_budgets::Writer writer = {.account_id = guest.user.id};
  for (const Stores stores : {Stores::sign_in, Stores::payments})
    game.g.services.admission.write_counts->charge(
        writer, stores, write_budgets::find(stores)->unverified, game.g.world.clock.now());
  CHECK(start() == "429 rate_limited");
  CHECK(game.ask("POST", "/api/external/points/spend", token, R"({"amount": 1})") == "200");
}

TEST_CASE("a guest becomes an account, once, and the tokens go on working") {
  Game game;
  const json guest = game.guest();
  const Answered done = game.upgrade(guest, "carol");
  REQUIRE(done.status == 200);
  const json& user = done.body.at("user");
  CHECK(user.at("id") == guest.at("user").at("id"));
  CHECK(user.at("email") == "carol@example.org");
  CHECK(user.at("username") == "carol");
  CHECK(user.at("email_verified") == false);
  CHECK(user.at("registration_number") == 2);
  const Answered login = game.g.ask(
      "POST", "/api/auth/login", {},
      json{{"email", "carol@example.org"}, {"password", "correct horse battery"}}.dump());
  CHECK(login.status == 200);
  CHECK(login.body.at("user").at("id") == user.at("id"));
  const Answered profile =
      game.g.ask("GET", "/api/external/profile", {bearer(guest.at("access_token"))});
  CHECK(profile.body.at("user").at("is_guest") == false);
  CHECK(game.upgrade(guest, "dora").error() == "409 invalid_state");
  CHECK(game.ask("POST", "/api/auth/guests/session", bearer(guest.at("access_token"))) ==
        "409 invalid_state");
}

TEST_CASE("an upgrade keeps the rules of registering") {
  Game game;
  const json guest = game.guest();
  CHECK(game.upgrade(guest, "ada").error() == "422 validation_failed");
  const auto refused = [&](const json& body) {
    return game.ask("POST", "/api/auth/guests/upgrade", bearer(guest.at("access_token")),
                    body.dump());
  };
  CHECK(refused({{"email", "carol@guest.invalid"},
                 {"username", "carol"},
                 {"password", "correct horse battery"}}) == "422 validation_failed");
  CHECK(refused({{"email", "carol@example.org"}, {"username", "carol"}, {"password", "short"}}) ==
        "422 validation_failed");
  CHECK(
      refused({{"email", "carol@example.org"}, {"username", "admin"}, {"password", "12345678"}}) ==
      "422 validation_failed");
  CHECK(game.upgrade(guest, "carol").status == 200);
}

TEST_CASE("accounts and apps aren't upgraded") {
  Game game;
  const auto bob = game.g.world.verified_user("bob");
  const json body = {
      {"email", "carol@example.org"}, {"username", "carol"}, {"password", "correct horse battery"}};
  const Header player = bearer(game.g.world.tokens(game.registered.app, bob).access_token);
  CHECK(game.ask("POST", "/api/auth/guests/upgrade", player, body.dump()) == "409 invalid_state");
  const Header session = bearer(game.g.world.jwt(bob));
  CHECK(game.ask("POST", "/api/auth/guests/upgrade", session, body.dump()) ==
        "401 wrong_token_type");
}

TEST_CASE("a guest gets another session with the access token") {
  Game game;
  const json guest = game.guest();
  game.g.world.clock.advance(31min);
  CHECK(game.ask("GET", "/api/avatars/me", bearer(guest.at("session_token"))) ==
        "401 token_revoked");
  const Answered started =
      game.g.ask("POST", "/api/auth/guests/session", {bearer(guest.at("access_token"))});
  REQUIRE(started.status == 200);
  CHECK(game.ask("GET", "/api/avatars/me", bearer(started.body.at("session_token"))) == "200");
}

TEST_CASE("nobody registers an address of guests") {
  Game game;
  const Answered refused = game.g.ask("POST", "/api/auth/register", {},
                                      json{{"email", "eve@guest.invalid"},
                                           {"username", "eve"},
                                           {"password", "correct horse battery"}}
                                          .dump());
  CHECK(refused.error() == "422 validation_failed");
}

TEST_CASE("admins see who is a guest") {
  Game game;
  const json guest = game.guest();
  const std::string id = guest.at("user").at("id");
  const Answered shown = game.g.ask("GET", "/api/internal/users/" + id, game.g.admin);
  CHECK(shown.body.at("user").at("is_guest") == true);
  CHECK(game.g.ask("GET", "/api/internal/users/" + game.owner.id, game.g.admin)
            .body.at("user")
            .at("is_guest") == false);
}

}  // namespace
