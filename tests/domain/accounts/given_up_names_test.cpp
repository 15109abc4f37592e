// Names of users and apps that were given up stay reserved for 90 days.
#include "controller/domain/accounts/given_up_names.h"

#include <catch2/catch.hpp>

#include "controller/domain/accounts/expiry.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;

  std::string rename(const accounts::User& user, const std::string& name) {
    return refusal([&] {
      world.write([&](db::Tx& tx) { accounts::rename(tx, user.id, name, ReservedNames()); });
    });
  }
  std::string sign_up(const std::string& name) {
    return refusal([&] { world.new_user(name); });
  }
  std::string create_app(const accounts::User& owner, const std::string& name) {
    return refusal(
        [&] { world.write([&](db::Tx& tx) { apps::create(tx, owner.id, profile(name)); }); });
  }
  apps::App app(const accounts::User& owner, const std::string& name) {
    return world.write([&](db::Tx& tx) { return apps::create(tx, owner.id, profile(name)).app; });
  }
  static apps::NewApp profile(const std::string& name) {
    return {.app_name = name,
            .app_description = "",
            .logo_url = {},
            .website_url = {},
            .redirect_uris = {redirect_uri},
            .allowed_scopes = {Scope::profile_read}};
  }
  std::int64_t reserved() {
    return world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM given_up_names"); });
  }
};

const std::string refused = "422 validation_failed";

TEST_CASE("a username that was given up by renaming is its owner's for 90 days") {
  Fixture f;
  const auto ada = f.world.new_user("ada"), eve = f.world.new_user("eve");
  CHECK(f.rename(ada, "Ada") == "");
  CHECK(f.reserved() == 0);
  CHECK(f.rename(ada, "lovelace") == "");
  CHECK(f.sign_up("ada") == refused);
  CHECK(f.rename(eve, "ADA") == refused);
  CHECK(f.rename(ada, "ada") == "");  // back; now the other name is reserved
  CHECK(f.sign_up("lovelace") == refused);
  CHECK(f.rename(ada, "countess") == "");
  f.world.clock.advance(accounts::name_reserved_for - 1s);
  CHECK(f.rename(eve, "ada") == refused);
  f.world.clock.advance(1s);
  CHECK(f.rename(eve, "ada") == "");
  CHECK(f.sign_up("lovelace") == "");
}

TEST_CASE("nobody takes over the names of a deleted account for 90 days") {
  Fixture f;
  const auto ada = f.world.verified_user("ada"), eve = f.world.verified_user("eve");
  f.app(ada, "Chess club");
  f.world.write([&](db::Tx& tx) { accounts::delete_account(tx, ada, f.world.keys); });
  CHECK(f.sign_up("Ada") == refused);
  CHECK(f.create_app(eve, "Chess club") == refused);
  CHECK(f.world.read([](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM given_up_names WHERE owner_id IS NOT NULL");
  }) == 0);
  f.world.clock.advance(accounts::name_reserved_for);
  CHECK(f.world.write([](db::Tx& tx) { return accounts::is_any_old(tx); }));
  f.world.write([](db::Tx& tx) { accounts::remove_old(tx, 100); });
  CHECK(f.reserved() == 0);
  CHECK(f.sign_up("ada") == "");
  CHECK(f.create_app(eve, "Chess club") == "");
}

TEST_CASE("an app's name that was given up, and what looks like it, is its owner's for 90 days") {
  Fixture f;
  const auto ada = f.world.verified_user("ada"), eve = f.world.verified_user("eve");
  const auto chess = f.app(ada, "Chess club");
  f.world.write([&](db::Tx& tx) { apps::remove(tx, chess); });
  for (const char* name :
       {"Chess club", "CHESS CLUB", "Ch\u0435ss club", "Chess-Club", "Che55 club"})
    CHECK(f.create_app(eve, name) == refused);
  CHECK(f.create_app(eve, "Chess clubs") == "");
  CHECK(f.create_app(ada, "Chess club") == "");
  // Renaming an app gives its name up as well, and looks for names that others have given up.
  const auto checkers = f.app(ada, "Checkers");
  const auto rename = [&](const apps::App& app, const std::string& name) {
    return refusal([&] {
      f.world.write([&](db::Tx& tx) {
        apps::update(tx, f.world.find_app(app.id), Fixture::profile(name), apps::Listing::unlisted);
      });
    });
  };
  CHECK(rename(checkers, "Draughts") == "");
  CHECK(f.create_app(eve, "Checkers") == refused);
  CHECK(rename(f.app(eve, "Go"), "checkers") == refused);
  f.world.clock.advance(accounts::name_reserved_for);
  CHECK(f.create_app(eve, "Checkers") == "");
}

TEST_CASE("a name that other owners' apps have, too, isn't reserved") {
  Fixture f;
  const auto ada = f.world.verified_user("ada"), eve = f.world.verified_user("eve"),
             bob = f.world.verified_user("bob");
  const auto blog = f.app(ada, "Blog");
  f.app(eve, "Blog");
  f.world.write([&](db::Tx& tx) { apps::remove(tx, blog); });
  CHECK(f.create_app(bob, "Blog") == "");
}

TEST_CASE("who renames again and again reserves ten names") {
  Fixture f;
  const auto eve = f.world.new_user("eve");
  for (int i = 0; i < 30; ++i) {
    f.world.clock.advance(1s);
    CHECK(f.rename(eve, "name" + std::to_string(i)) == "");
  }
  CHECK(f.reserved() == accounts::max_given_up_names);
  CHECK(f.sign_up("name3") == "");
  CHECK(f.sign_up("name28") == refused);
}

TEST_CASE("sub-domains are free at once") {
  World world;
  const auto app = world.approved_app(world.verified_user("ada"), {Scope::deploy_manage});
  const auto old = world.deploy(app, order("shop"));
  world.write([&](db::Tx& tx) {
    tx.execute("UPDATE deployments SET status = 'destroyed', removed_at = $2 WHERE id = $1", old.id,
               tx.now());
  });
  const auto other = world.approved_app(world.verified_user("eve"), {Scope::deploy_manage});
  CHECK(refusal([&] { world.deploy(other, order("shop")); }) == "");
}

}  // namespace
