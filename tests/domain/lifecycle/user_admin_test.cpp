#include "controller/domain/lifecycle/user_admin.h"

#include <catch2/catch.hpp>

#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/lifecycle/passwords.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

std::vector<std::string> names(World& world, const std::optional<std::string>& search) {
  std::vector<std::string> result;
  for (const auto& user :
       world.read([&](db::Tx& tx) { return accounts::list_users(tx, search, {}); }).items)
    result.push_back(user.username);
  return result;
}

std::string erase(World& world, const accounts::User& user) {
  return refusal([&] {
    world.write([&](db::Tx& tx) {
      accounts::delete_account(tx, *accounts::find(tx, user.id), world.keys);
    });
  });
}

TEST_CASE("users are found by the beginning of their address or a part of their name") {
  World world;
  for (const char* name : {"ada", "bob_", "Carla"}) world.new_user(name);
  using Names = std::vector<std::string>;
  CHECK(names(world, std::nullopt) == Names{"Carla", "bob_", "ada"});
  CHECK(names(world, "CARL") == Names{"Carla"});
  CHECK(names(world, "ada@example") == Names{"ada"});
  CHECK(names(world, "b_") == Names{"bob_"});
  CHECK(names(world, "ARL") == Names{"Carla"});
  CHECK(names(world, "c") == Names{"Carla"});
  CHECK(names(world, "%").empty());
  CHECK(names(world, "\\").empty());
}

TEST_CASE("a search that finds very many users counts and lists some of them, the newest first") {
  World world;
  constexpr int users = 1'500;
  world.write([&](db::Tx& tx) {
    tx.execute(R"(
        WITH RECURSIVE numbers (n) AS
          (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
        INSERT INTO users (id, email, email_key, username, username_key, password_hash,
                           referral_code, registration_number, signup_multiplier, created_at,
                           updated_at)
        SELECT substr(CAST(100000 + n AS text), 2), name, name, name, name, '', name, n, 1, 0, 0
        FROM (SELECT n, 'player' || substr(CAST(100000 + n AS text), 2) AS name FROM numbers) AS players)",
               users);
  });
  const auto find = [&](const std::string& text) {
    return world.read([&](db::Tx& tx) { return accounts::list_users(tx, text, {}); });
  };
  const auto many = find("player");
  CHECK(many.total == 1'000);
  CHECK(many.total_is_at_least);
  REQUIRE(many.items.size() == 20);
  CHECK(many.items[0].registration_number > many.items[1].registration_number);
  CHECK(many.next);
  const auto few = find("player0012");
  CHECK(few.total == 10);
  CHECK_FALSE(few.total_is_at_least);
}

TEST_CASE("admins change tier and rights, and it is written down") {
  World world;
  const auto ada = world.new_user("ada");
  world.write([&](db::Tx& tx) {
    CHECK(accounts::promote(tx, ada.id, {.tier = "basic", .is_admin = {}}, "root").tier == "basic");
    CHECK(accounts::promote(tx, ada.id, {.tier = {}, .is_admin = true}, "root").is_admin);
    CHECK(accounts::find(tx, ada.id)->tier == "basic");
    CHECK(tx.number("SELECT count(*) FROM audit_log WHERE actor = 'root' AND target = $1",
                    ada.id) == 2);
  });
  const auto promote = [&](const std::string& id, const std::string& tier) {
    return refusal([&] {
      world.write(
          [&](db::Tx& tx) { accounts::promote(tx, id, {.tier = tier, .is_admin = {}}, "root"); });
    });
  };
  CHECK(promote(ada.id, "gold") == "404 tier_not_found");
  CHECK(promote("nobody", "basic") == "404 user_not_found");
}

TEST_CASE("a suspended account's sessions have ended, also after its reactivation") {
  World world;
  const auto ada = world.new_user("ada");
  const std::string jwt = world.jwt(ada);
  const auto check = [&] {
    return refusal(
        [&] { world.read([&](db::Tx& tx) { accounts::check_session(tx, jwt, world.keys); }); });
  };
  for (int twice = 0; twice < 2; ++twice)
    world.write(
        [&](db::Tx& tx) { CHECK(accounts::suspend(tx, ada.id, "root", world.keys).suspended); });
  CHECK(check() == "403 account_suspended");
  world.write([&](db::Tx& tx) { CHECK_FALSE(accounts::reactivate(tx, ada.id, "root").suspended); });
  CHECK(check() == "401 token_revoked");
  CHECK(refusal([&] {
          world.write([&](db::Tx& tx) { accounts::suspend(tx, "nobody", "root", world.keys); });
        }) == "404 user_not_found");
}

TEST_CASE("a deleted account leaves no name, and the ledger stays consistent") {
  World world;
  const auto ruth = world.verified_user("ruth");
  world.mint(ledger::user_account(ruth.id), 70);
  world.write([&](db::Tx& tx) { two_factor::set_up(tx, ruth, world.keys); });
  const std::string jwt = world.jwt(ruth);
  const auto bob = world.verified_user("bob");
  const auto app = world.new_app(bob).app;
  const auto tokens = world.tokens(app, ruth);
  CHECK(erase(world, ruth) == "");
  CHECK(refusal([&] {
          world.read([&](db::Tx& tx) { accounts::check_session(tx, jwt, world.keys); });
        }) == "401 token_revoked");
  CHECK(refusal([&] { world.check(tokens.access_token); }) != "");
  CHECK(refusal_of(world.refresh(app, tokens.refresh_token)) != "");
  CHECK(world.balance(ledger::user_account(ruth.id)) == 0);
  CHECK(world.balance(ledger::treasury()) == 70);
  world.read([&](db::Tx& tx) {
    CHECK_FALSE(accounts::find(tx, ruth.id));
    CHECK_FALSE(accounts::credentials(tx, ruth.email));
    // The address is replaced by a text with the user's id, which others may know.
    CHECK_FALSE(accounts::credentials(tx, "deleted:" + ruth.id));
    CHECK(
        tx.number("SELECT count(*) FROM users WHERE id = $1 AND (email || email_key || username || "
                  "username_key || referral_code LIKE '%ruth%' OR password_hash <> '')",
                  ruth.id) == 0);
    for (const char* table : {"sessions", "email_tokens", "totp_secrets", "login_networks"})
      CHECK(tx.number("SELECT count(*) FROM " + std::string(table) + " WHERE user_id = $1",
                      ruth.id) == 0);
    CHECK(tx.number("SELECT count(*) FROM outbox WHERE to_address = $1", ruth.email) == 0);
    CHECK(tx.number("SELECT count(*) FROM ledger_postings WHERE account_number = $1",
                    ledger::account_number(tx, ledger::user_account(ruth.id))) == 2);
    CHECK(tx.number("SELECT (SELECT sum(balance) FROM ledger_accounts) + "
                    "coalesce((SELECT sum(amount) FROM ledger_pending), 0)") == 0);
  });
  CHECK(refusal([&] { world.new_user("mal", "deleted:" + ruth.id); }) == "422 validation_failed");
  world.write([&](db::Tx& tx) {
    accounts::request_reset(tx, "deleted:" + ruth.id);
    CHECK(accounts::answer_reset_requests(tx, world.keys, "https://api.example.org", 1) == 1);
    CHECK(tx.number("SELECT count(*) FROM email_tokens WHERE user_id = $1", ruth.id) == 0);
  });
  // The address can be used again, but neither the name (for 90 days) nor the registration number.
  CHECK(refusal([&] { world.new_user("ruth"); }) == "422 validation_failed");
  const auto again = world.write([&](db::Tx& tx) {
    return accounts::register_user(tx,
                                   {.email = "ruth@example.org",
                                    .username = "ruth2",
                                    .password_hash = "no hash",
                                    .referral_code = {}},
                                   world.bonus, world.keys, "https://api.example.org");
  });
  CHECK(again.registration_number == 3);
}

TEST_CASE("an account with a live deployment can't be deleted") {
  World world;
  const auto ada = world.verified_user("ada");
  const auto app = world.approved_app(ada, {Scope::deploy_manage});
  const auto shop = world.deploy(app, order());
  CHECK(erase(world, ada) == "409 invalid_state");
  CHECK(world.find_user(ada.id).username == "ada");
  world.destroy(app, shop.id);
  CHECK(erase(world, ada) == "");
}

TEST_CASE("the sign-up bonus is paid once, when the address is verified, from the treasury") {
  World world;
  world.bonus = {.points = 10, .daily_points = 60, .first_count = 1, .first_multiplier = 5};
  const auto ada = world.new_user("ada"), bob = world.new_user("bob"), eve = world.new_user("eve");
  const auto verify = [&](const accounts::User& user) {
    world.write([&](db::Tx& tx) { accounts::mark_verified(tx, user.id, world.bonus); });
    return world.find_user(user.id).points;
  };
  CHECK(verify(bob) == 0);  // the treasury is empty
  world.mint(ledger::treasury(), 1000);
  CHECK(verify(ada) == 50);
  CHECK(verify(ada) == 50);
  CHECK(verify(bob) == 0);
  CHECK(verify(eve) == 0);  // 20 points would exceed the day's limit of 60
  world.clock.advance(24h);
  CHECK(verify(world.new_user("mal")) == 20);
  CHECK(world.balance(ledger::treasury()) == 930);
}

TEST_CASE("a name can be changed to one that is free") {
  World world;
  const auto ada = world.new_user("ada");
  world.new_user("bob");
  const auto rename = [&](const std::string& name) {
    return refusal(
        [&] { world.write([&](db::Tx& tx) { accounts::rename(tx, ada.id, name, {}); }); });
  };
  CHECK(rename("BOB") == "422 validation_failed");
  CHECK(rename("a") == "422 validation_failed");
  CHECK(rename("Ada") == "");
  CHECK(rename("countess") == "");
  CHECK(world.find_user(ada.id).username == "countess");
}

}  // namespace
