// Changing and deleting apps.
#include <catch2/catch.hpp>

#include "controller/domain/apps/apps.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::AppWithSecret registered = world.new_app(ada);
  apps::App& app = registered.app;

  std::string authenticate(const std::string& secret) {
    return refusal(
        [&] { world.read([&](db::Tx& tx) { apps::authenticate(tx, app.client_id, secret); }); });
  }
  apps::AppWithSecret rotate(Duration grace) {
    return world.write([&](db::Tx& tx) { return apps::rotate_secret(tx, app, grace); });
  }
  apps::Profile profile() {
    return {.app_name = app.app_name,
            .app_description = app.app_description,
            .logo_url = app.logo_url,
            .website_url = app.website_url,
            .redirect_uris = app.redirect_uris,
            .allowed_scopes = app.allowed_scopes};
  }
  apps::App update(const apps::Profile& profile, apps::Listing listing = apps::Listing::unlisted) {
    return world.write(
        [&](db::Tx& tx) { return apps::update(tx, world.find_app(app.id), profile, listing).app; });
  }
  std::int64_t listed() {
    return world.read([&](db::Tx& tx) { return apps::list_public(tx, {}).total; });
  }
};

TEST_CASE("a rotated secret replaces the old one at once, unless there is a grace") {
  Fixture f;
  const auto second = f.rotate(0s);
  CHECK_FALSE(second.previous_works_until);
  CHECK(f.authenticate(f.registered.client_secret) == "401 invalid_client");
  CHECK(f.authenticate(second.client_secret) == "");
  const auto third = f.rotate(1h);
  CHECK(third.previous_works_until == f.world.clock.now() + 1h);
  CHECK(f.authenticate(second.client_secret) == "");
  CHECK(f.authenticate(third.client_secret) == "");
  const auto fourth = f.rotate(1h);
  CHECK(f.authenticate(second.client_secret) == "401 invalid_client");
  CHECK(f.authenticate(third.client_secret) == "");
  f.world.clock.advance(1h);
  CHECK(f.authenticate(third.client_secret) == "401 invalid_client");
  CHECK(f.authenticate(fourth.client_secret) == "");
  CHECK(f.authenticate("") == "401 invalid_client");
}

TEST_CASE("owners change their apps by the rules of creation") {
  Fixture f;
  auto profile = f.profile();
  profile.app_name = "Another name";
  profile.redirect_uris = {"https://new.example.org/cb"};
  f.world.clock.advance(1s);
  const auto changed = f.update(profile, apps::Listing::listed);
  CHECK(changed.app_name == "Another name");
  CHECK(changed.listed);
  CHECK(changed.updated_at == f.world.clock.now());
  CHECK(changed.inserted_at < changed.updated_at);
  CHECK(refusal([&] { f.world.authorize(changed, f.ada); }) == "400 invalid_request");
  profile.redirect_uris = {"http://evil.example.org"};
  CHECK(refusal([&] { f.update(profile); }) == "422 validation_failed");
}

TEST_CASE("a scope that the app gives up must be approved again") {
  World world;
  const auto ada = world.verified_user("ada");
  const auto app = world.approved_app(ada, {Scope::points_spend, Scope::deploy_manage});
  const auto tokens = world.tokens(app, ada, "points:spend deploy:manage");
  apps::Profile profile = {.app_name = "x",
                           .app_description = "",
                           .logo_url = {},
                           .website_url = {},
                           .redirect_uris = app.redirect_uris,
                           .allowed_scopes = {Scope::deploy_manage}};
  const auto less = world.write(
      [&](db::Tx& tx) { return apps::update(tx, app, profile, apps::Listing::unlisted).app; });
  CHECK(less.approved_scopes == (ScopeSet::automatic() | ScopeSet{Scope::deploy_manage}));
  CHECK(world.check(tokens.access_token).scopes == ScopeSet{Scope::deploy_manage});
  profile.allowed_scopes = app.allowed_scopes;
  const auto again = world.write(
      [&](db::Tx& tx) { return apps::update(tx, less, profile, apps::Listing::unlisted); });
  CHECK_FALSE(again.app.is_approved());
  CHECK_FALSE(again.app.approved_scopes.has(Scope::points_spend));
  // The admins are asked for it at once, and not again by a change of something else.
  REQUIRE(again.scope_request);
  CHECK(again.scope_request->requested == ScopeSet{Scope::points_spend});
  profile.app_name = "y";
  CHECK_FALSE(world.write([&](db::Tx& tx) {
    return apps::update(tx, again.app, profile, apps::Listing::unlisted).scope_request;
  }));
}

TEST_CASE("listed apps are public, unless they are suspended or deleted") {
  Fixture f;
  CHECK(f.listed() == 0);
  f.update(f.profile(), apps::Listing::listed);
  CHECK(f.listed() == 1);
  f.world.write([&](db::Tx& tx) { apps::suspend(tx, f.app.id, "root"); });
  CHECK(f.listed() == 0);
  f.world.write([&](db::Tx& tx) { apps::reactivate(tx, f.app.id, "root"); });
  CHECK(f.listed() == 1);
  f.world.write([&](db::Tx& tx) { apps::remove(tx, f.app); });
  CHECK(f.listed() == 0);
}

TEST_CASE("the users of an app are those with a consent to it") {
  Fixture f;
  const auto bob = f.world.verified_user("bob");
  const auto users = [&] {
    return f.world.read([&](db::Tx& tx) { return apps::count_users(tx, f.app.id); });
  };
  f.world.write([&](db::Tx& tx) { oauth::client_credentials(tx, f.app, {}); });
  CHECK(users() == 0);
  f.world.tokens(f.app, bob);
  f.world.tokens(f.app, bob);
  CHECK(users() == 1);
}

TEST_CASE("a suspended app's tokens work again when it is reactivated") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.ada);
  const auto check = [&] { return refusal([&] { f.world.check(tokens.access_token); }); };
  f.world.write([&](db::Tx& tx) { apps::suspend(tx, f.app.id, "root"); });
  f.world.write([&](db::Tx& tx) { apps::suspend(tx, f.app.id, "root"); });
  CHECK(check() == "403 account_suspended");
  f.world.write([&](db::Tx& tx) { apps::reactivate(tx, f.app.id, "root"); });
  CHECK(check() == "");
  f.world.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM audit_log WHERE actor = 'root' AND target = $1",
                    f.app.id) == 3);
  });
  for (auto* change : {apps::suspend, apps::reactivate})
    CHECK(refusal([&] { f.world.write([&](db::Tx& tx) { change(tx, "unknown", "root"); }); }) ==
          "404 app_not_found");
}

TEST_CASE(
    "an app with live deployments can't be deleted; otherwise its points go to the treasury") {
  World world;
  const auto ada = world.verified_user("ada");
  const auto app = world.approved_app(ada, {Scope::deploy_manage});
  world.mint(ledger::app_account(app.id), 70);
  const auto before = world.balance(ledger::treasury());
  const auto deployment = world.deploy(app, order());
  const auto remove = [&] {
    return refusal([&] { world.write([&](db::Tx& tx) { apps::remove(tx, app); }); });
  };
  CHECK(remove() == "409 invalid_state");
  world.destroy(app, deployment.id);
  world.write([&](db::Tx& tx) { apps::request_scopes(tx, app, {Scope::points_spend}); });
  CHECK(remove() == "");
  CHECK(world.balance(ledger::app_account(app.id)) == 0);
  CHECK(world.balance(ledger::treasury()) == before + 70);
  world.read([&](db::Tx& tx) {
    CHECK_FALSE(apps::find(tx, app.id));
    CHECK_FALSE(apps::find_by_client_id(tx, app.client_id));
    CHECK(apps::list_owned(tx, ada.id, {}).total == 0);
    CHECK(apps::list_requests(tx, app.id, apps::RequestStatus::pending, {}).total == 0);
  });
  // The deleted app no longer counts.
  for (int i = 0; i < apps::max_apps_per_account; ++i) world.new_app(ada);
}

}  // namespace
