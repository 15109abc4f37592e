// Merging a guest into an account over the API: both are proven, and the app learns the new id.
#include <catch2/catch.hpp>

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
  accounts::User bob = g.world.verified_user("bob");
  Header session = bearer(g.world.jwt(bob));

  json guest() {
    const json credentials = {{"client_id", registered.app.client_id},
                              {"client_secret", registered.client_secret}};
    const Answered made = g.ask("POST", "/api/auth/guests", {}, credentials.dump());
    REQUIRE(made.status == 201);
    return made.body;
  }
  Answered preview(const Header& as, const std::string& token) {
    return g.ask("POST", "/api/auth/guests/merge/preview", {as},
                 json{{"guest_token", token}}.dump());
  }
  Answered merge(const Header& as, const std::string& token, const std::string& preview) {
    return g.ask("POST", "/api/auth/guests/merge", {as},
                 json{{"guest_token", token}, {"preview", preview}}.dump());
  }
  void mint(const json& guest, std::int64_t points) {
    g.world.mint(ledger::user_account(guest.at("user").at("id")), points);
  }
};

TEST_CASE("a guest is merged into the account of the session, as the preview has shown") {
  Game game;
  const json guest = game.guest();
  const std::string token = guest.at("access_token");
  game.mint(guest, 70);
  const Answered shown = game.preview(game.session, token);
  REQUIRE(shown.status == 200);
  CHECK(shown.body.at("possible") == true);
  CHECK(shown.body.at("obstacles").empty());
  CHECK(shown.body.at("points").at("moved") == 70);
  CHECK(shown.body.at("guest_id") == guest.at("user").at("id"));
  CHECK(shown.body.at("user_id") == game.bob.id);
  CHECK(shown.body.at("app_id") == game.registered.app.id);
  const Answered done = game.merge(game.session, token, shown.body.at("preview"));
  REQUIRE(done.status == 200);
  CHECK(done.body.at("points") == 70);
  CHECK(game.g.ask("GET", "/api/external/profile", {bearer(token)}).error() == "401 token_revoked");
  // The guest's token proves nothing any more.
  CHECK(game.merge(game.session, token, shown.body.at("preview")).error() ==
        "422 validation_failed");
}

TEST_CASE(
    "the app finds the guests of an account in its profile, and admins the account of a guest") {
  Game game;
  const json guest = game.guest();
  const std::string token = guest.at("access_token");
  game.merge(game.session, token, game.preview(game.session, token).body.at("preview"));
  const Header player = bearer(game.g.world.tokens(game.registered.app, game.bob).access_token);
  const json profile = game.g.ask("GET", "/api/external/profile", {player}).body.at("user");
  CHECK(profile.at("is_guest") == false);
  CHECK(profile.at("guest_ids") == json::array({guest.at("user").at("id")}));
  const auto other = game.g.world.new_app(game.owner).app;
  const Header elsewhere = bearer(game.g.world.tokens(other, game.bob).access_token);
  CHECK(game.g.ask("GET", "/api/external/profile", {elsewhere})
            .body.at("user")
            .at("guest_ids")
            .empty());
  const std::string id = guest.at("user").at("id");
  const Answered found = game.g.ask("GET", "/api/internal/users/" + id, game.g.admin);
  REQUIRE(found.status == 200);
  CHECK(found.body.at("user").at("id") == game.bob.id);
}

TEST_CASE("a merge needs a session, and tokens of apps aren't one") {
  Game game;
  const json guest = game.guest();
  const std::string token = guest.at("access_token");
  const Header player = bearer(game.g.world.tokens(game.registered.app, game.bob).access_token);
  for (const Header& as : {bearer(token), player})
    CHECK(game.preview(as, token).error() == "401 wrong_token_type");
  CHECK(game.merge(player, token, "x").error() == "401 wrong_token_type");
}

TEST_CASE("the guest is proven by their access token") {
  Game game;
  const json guest = game.guest();
  const auto refused = [&](const std::string& token) {
    return game.preview(game.session, token).error();
  };
  CHECK(refused("at_live_nobody") == "422 validation_failed");
  CHECK(refused(guest.at("refresh_token")) == "422 validation_failed");
  CHECK(refused(game.g.world.tokens(game.registered.app, game.bob).access_token) ==
        "409 invalid_state");
  game.g.world.clock.advance(2h);
  CHECK(refused(guest.at("access_token")) == "422 validation_failed");
}

TEST_CASE("the account is proven by a login of the last ten minutes, or again") {
  Game game;
  const json guest = game.guest();
  const std::string token = guest.at("access_token");
  game.g.world.clock.advance(11min);
  const Answered shown = game.preview(game.session, token);
  REQUIRE(shown.status == 200);
  CHECK(game.merge(game.session, token, shown.body.at("preview")).error() ==
        "401 insufficient_user_authentication");
  const std::string wrong = json{
      {"guest_token", token},
      {"preview", shown.body.at("preview")},
      {"password",
       "another one"}}.dump();
  CHECK(game.g.ask("POST", "/api/auth/guests/merge", {game.session}, wrong).error() ==
        "401 invalid_credentials");
  const Header fresh = bearer(game.g.world.jwt(game.bob));
  CHECK(game.merge(fresh, token, shown.body.at("preview")).status == 200);
}

TEST_CASE("what the preview names as an obstacle is what the merge is refused with") {
  Game game;
  const json guest = game.guest();
  const std::string token = guest.at("access_token");
  const Header session = bearer(game.g.world.jwt(game.g.world.new_user("carol")));
  const Answered shown = game.preview(session, token);
  REQUIRE(shown.status == 200);
  CHECK(shown.body.at("possible") == false);
  CHECK(shown.body.at("obstacles").at(0).at("code") == "email_not_verified");
  CHECK(game.merge(session, token, shown.body.at("preview")).error() == "403 email_not_verified");
}

TEST_CASE("a merge that would do something else than was shown is refused") {
  Game game;
  const json guest = game.guest();
  const std::string token = guest.at("access_token");
  const Answered shown = game.preview(game.session, token);
  game.mint(guest, 1);
  CHECK(game.merge(game.session, token, shown.body.at("preview")).error() ==
        "409 preview_outdated");
}

}  // namespace
