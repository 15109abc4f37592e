#include "controller/domain/accounts/admin_roles.h"

#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <thread>

#include "controller/domain/kernel/audit.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using accounts::AdminRole;

constexpr int racers = 32;

std::string give(World& world, const std::string& id, std::optional<AdminRole> role) {
  return refusal(
      [&] { world.write([&](db::Tx& tx) { accounts::give_admin_role(tx, id, role, "root"); }); });
}

std::optional<AdminRole> role_of(World& world, const std::string& id) {
  return world.find_user(id).admin_role;
}

TEST_CASE("a role is given, changed and taken away, and the log has both", "[admin_roles_test]") {
  World world;
  const std::string ada = world.new_user("ada").id, bob = world.new_user("bob").id;
  CHECK_FALSE(role_of(world, bob));
  CHECK(give(world, ada, AdminRole::admin) == "");
  CHECK(give(world, bob, AdminRole::support) == "");
  CHECK(role_of(world, bob) == AdminRole::support);
  CHECK(world.find_user(bob).is_admin);
  CHECK(give(world, bob, AdminRole::support) == "");  // changes nothing, and is no entry
  CHECK(give(world, bob, AdminRole::finance) == "");
  CHECK(give(world, bob, std::nullopt) == "");
  CHECK_FALSE(role_of(world, bob));
  CHECK_FALSE(world.find_user(bob).is_admin);
  CHECK(give(world, "nobody", AdminRole::admin) == "404 user_not_found");
  const auto entries = world
                           .read([&](db::Tx& tx) {
                             return audit::list(tx, {.target = bob}, {.page = 1, .page_size = 10});
                           })
                           .items;
  REQUIRE(entries.size() == 3);
  CHECK(entries[2].details == R"({"after":"support","before":null})");
  CHECK(entries[1].details == R"({"after":"finance","before":"support"})");
  CHECK(entries[0].details == R"({"after":null,"before":"finance"})");
  CHECK(entries[0].action == "user.unmake_admin");
}

TEST_CASE("is_admin gives the role admin, and leaves somebody the role that they have",
          "[admin_roles_test]") {
  World world;
  const std::string ada = world.new_user("ada").id, bob = world.new_user("bob").id;
  const auto promote = [&](const std::string& id, const accounts::Promotion& promotion) {
    return refusal(
        [&] { world.write([&](db::Tx& tx) { accounts::promote(tx, id, promotion, "root"); }); });
  };
  CHECK(promote(ada, {.tier = {}, .is_admin = true}) == "");
  CHECK(role_of(world, ada) == AdminRole::admin);
  CHECK(promote(bob, {.tier = {}, .is_admin = {}, .admin_role = AdminRole::support}) == "");
  CHECK(promote(bob, {.tier = {}, .is_admin = true}) == "");
  CHECK(role_of(world, bob) == AdminRole::support);
  CHECK(promote(bob, {.tier = {}, .is_admin = false, .admin_role = AdminRole::admin}) ==
        "422 validation_failed");
  CHECK(promote(bob, {.tier = {}, .is_admin = false}) == "");
  CHECK_FALSE(role_of(world, bob));
}

TEST_CASE("an admin of before there were roles has the role admin", "[admin_roles_test]") {
  World world;
  const std::string ada = world.new_user("ada").id;
  world.write([&](db::Tx& tx) { tx.execute("UPDATE users SET is_admin = 1 WHERE id = $1", ada); });
  CHECK(role_of(world, ada) == AdminRole::admin);
  CHECK(give(world, ada, std::nullopt) == "409 invalid_state");
  const auto admins = world.read(accounts::list_admins);
  REQUIRE(admins.size() == 1);
  CHECK(admins[0].role == AdminRole::admin);
}

TEST_CASE("the last admin keeps the role, and the account", "[admin_roles_test]") {
  World world;
  const accounts::User ada = world.new_user("ada"), bob = world.new_user("bob"),
                       carol = world.new_user("carol");
  CHECK(give(world, ada.id, AdminRole::admin) == "");
  CHECK(give(world, carol.id, AdminRole::support) == "");
  const auto erase = [&](const accounts::User& user) {
    return refusal([&] {
      world.write([&](db::Tx& tx) {
        accounts::delete_account(tx, *accounts::find(tx, user.id), world.keys);
      });
    });
  };
  CHECK(give(world, ada.id, std::nullopt) == "409 invalid_state");
  CHECK(give(world, ada.id, AdminRole::support) == "409 invalid_state");
  CHECK(erase(ada) == "409 invalid_state");
  // Who is suspended can't act, and doesn't count.
  CHECK(give(world, bob.id, AdminRole::admin) == "");
  world.suspend_user(bob.id);
  CHECK(give(world, ada.id, std::nullopt) == "409 invalid_state");
  world.write([&](db::Tx& tx) { accounts::reactivate(tx, bob.id, "root"); });
  CHECK(erase(ada) == "");
  CHECK(give(world, bob.id, std::nullopt) == "409 invalid_state");
  CHECK(erase(carol) == "");  // no admin of that role
  CHECK(world.read(accounts::list_admins).size() == 1);
}

TEST_CASE("of 32 admins whose roles are taken away at once, one keeps it",
          "[admin_roles_test][admin_races]") {
  World world;
  std::vector<std::string> ids;
  for (int i = 0; i < racers; ++i) ids.push_back(world.new_user("admin" + std::to_string(i)).id);
  constexpr int rounds = 5;
  for (int round = 0; round < rounds; ++round) {
    for (const std::string& id : ids) REQUIRE(give(world, id, AdminRole::admin) == "");
    std::atomic<int> refused = 0;
    std::barrier start(racers);
    std::vector<std::jthread> threads;
    for (const std::string& id : ids)
      threads.emplace_back([&, id] {
        start.arrive_and_wait();
        if (give(world, id, std::nullopt) == "409 invalid_state") ++refused;
      });
    threads.clear();
    CHECK(refused == 1);
    const auto left = world.read(accounts::list_admins);
    REQUIRE(left.size() == 1);
    CHECK(left[0].role == AdminRole::admin);
  }
}

}  // namespace
