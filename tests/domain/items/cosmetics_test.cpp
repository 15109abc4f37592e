#include "controller/domain/items/cosmetics.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/social/blocks.h"
#include "tests/domain/items/items_world.h"

namespace {

using namespace berth;
using namespace berth::test;

struct Shop {
  World world;
  accounts::User ada = world.new_user("ada");
  accounts::User bob = world.new_user("bob");
  cosmetics::Item hat = new_item(world, "Straw hat", 30);

  Shop() { world.mint(ledger::user_account(ada.id), 100); }

  std::string give(const accounts::User& from, const std::string& item, const std::string& to) {
    return refusal([&] {
      world.write(
          [&](db::Tx& tx) { cosmetics::give(tx, {.user_id = from.id, .grant_id = {}}, item, to); });
    });
  }
  std::int64_t transactions(const std::string& kind) {
    return world.read([&](db::Tx& tx) {
      return tx.number(
          "SELECT count(*) FROM ledger_transactions WHERE kind = "
          "(SELECT number FROM ledger_kinds WHERE kind = $1)",
          kind);
    });
  }
  bool owns(const accounts::User& user) {
    return world.read([&](db::Tx& tx) { return cosmetics::owns(tx, user.id, hat.id); });
  }
};

TEST_CASE("a bought item is paid to the treasury and owned") {
  Shop shop;
  const auto bought = buy(shop.world, shop.ada, shop.hat);
  CHECK(bought.paid == 30);
  CHECK(bought.balance == 70);
  CHECK(bought.owned.item.id == shop.hat.id);
  CHECK(bought.owned.acquired_via == cosmetics::AcquiredVia::purchase);
  CHECK(bought.owned.acquired_at == shop.world.clock.now());
  CHECK(points_of(shop.world, shop.ada) == 70);
  CHECK(shop.world.balance(ledger::treasury()) == 30);
  CHECK(shop.transactions("cosmetic_purchase") == 1);
  CHECK(shop.owns(shop.ada));
}

TEST_CASE("a refused purchase costs nothing") {
  Shop shop;
  buy(shop.world, shop.ada, shop.hat);
  const auto gone = new_item(shop.world, "Crown", 1, cosmetics::Category::hat, false);
  const auto dear = new_item(shop.world, "Golden hat", 71);
  CHECK(refusal([&] { buy(shop.world, shop.ada, shop.hat); }) == "409 already_owned");
  CHECK(refusal([&] { buy(shop.world, shop.ada, gone); }) == "422 cosmetic_unavailable");
  CHECK(refusal([&] { buy(shop.world, shop.ada, dear); }) == "422 insufficient_balance");
  cosmetics::Item unknown = shop.hat;
  unknown.id = shop.ada.id;
  CHECK(refusal([&] { buy(shop.world, shop.ada, unknown); }) == "404 cosmetic_not_found");
  CHECK(points_of(shop.world, shop.ada) == 70);
  CHECK(shop.world.read(
            [&](db::Tx& tx) { return cosmetics::owned_by(tx, shop.ada.id, {}).total; }) == 1);
}

TEST_CASE("a free item moves no points") {
  Shop shop;
  const auto bought = buy(shop.world, shop.bob, new_item(shop.world, "Leaf", 0));
  CHECK(bought.paid == 0);
  CHECK(bought.balance == 0);
  CHECK(shop.transactions("cosmetic_purchase") == 0);
}

TEST_CASE("a gift is paid by one and owned by the other") {
  Shop shop;
  CHECK(shop.give(shop.ada, shop.hat.id, shop.bob.id) == "");
  CHECK(points_of(shop.world, shop.ada) == 70);
  CHECK(points_of(shop.world, shop.bob) == 0);
  CHECK(shop.owns(shop.bob));
  CHECK_FALSE(shop.owns(shop.ada));
  CHECK(shop.transactions("cosmetic_gift") == 1);
  CHECK(shop.world.read([&](db::Tx& tx) {
    return cosmetics::owned_by(tx, shop.bob.id, {}).items.at(0).acquired_via;
  }) == cosmetics::AcquiredVia::gift);
  CHECK(shop.give(shop.ada, shop.hat.id, shop.bob.id) == "409 already_owned");
}

TEST_CASE("gifts can only go to other existing users without a block") {
  Shop shop;
  CHECK(shop.give(shop.ada, shop.hat.id, shop.ada.id) == "422 validation_failed");
  CHECK(shop.give(shop.ada, shop.hat.id, shop.hat.id) == "404 user_not_found");
  shop.world.write([&](db::Tx& tx) { blocks::add(tx, shop.bob.id, shop.ada.id); });
  CHECK(shop.give(shop.ada, shop.hat.id, shop.bob.id) == "404 user_not_found");
  shop.world.write([&](db::Tx& tx) {
    blocks::remove(tx, shop.bob.id, shop.ada.id);
    blocks::add(tx, shop.ada.id, shop.bob.id);
  });
  CHECK(shop.give(shop.ada, shop.hat.id, shop.bob.id) == "404 user_not_found");
  shop.world.write([&](db::Tx& tx) {
    blocks::remove(tx, shop.ada.id, shop.bob.id);
    accounts::delete_account(tx, *accounts::find(tx, shop.bob.id), shop.world.keys);
  });
  CHECK(shop.give(shop.ada, shop.hat.id, shop.bob.id) == "404 user_not_found");
  CHECK(points_of(shop.world, shop.ada) == 100);
}

TEST_CASE("an app that pays for the user keeps to their limit") {
  Shop shop;
  const auto owner = shop.world.verified_user("owner");
  const auto app = shop.world.approved_app(owner, {Scope::profile_read, Scope::points_spend});
  const auto tokens = shop.world.tokens(app, shop.ada, "points:spend");
  const std::string grant = shop.world.check(tokens.access_token).grant_id;
  shop.world.write(
      [&](db::Tx& tx) { connections::set_daily_spend_limit(tx, shop.ada.id, app.id, 40); });
  CHECK(refusal([&] { buy(shop.world, shop.ada, shop.hat, grant); }) == "");
  const auto cap = new_item(shop.world, "Cap", 11);
  CHECK(refusal([&] { buy(shop.world, shop.ada, cap, grant); }) == "422 spend_limit_reached");
  // The owner's own spending has no limit.
  CHECK(refusal([&] { buy(shop.world, shop.ada, cap); }) == "");
  CHECK(points_of(shop.world, shop.ada) == 59);
}

TEST_CASE("simultaneous purchases buy an item once, also together with gifts") {
  Shop shop;
  shop.world.mint(ledger::user_account(shop.bob.id), 100);
  std::atomic<int> bought = 0, refused = 0;
  std::vector<std::thread> buyers;
  for (int i = 0; i < 16; ++i)
    buyers.emplace_back([&, i] {
      const std::string result = i % 2 == 0 ? refusal([&] { buy(shop.world, shop.ada, shop.hat); })
                                            : shop.give(shop.bob, shop.hat.id, shop.ada.id);
      if (result.empty()) ++bought;
      if (result == "409 already_owned") ++refused;
    });
  for (auto& buyer : buyers) buyer.join();
  CHECK(bought == 1);
  CHECK(refused == 15);
  CHECK(points_of(shop.world, shop.ada) + points_of(shop.world, shop.bob) == 170);
}

TEST_CASE("simultaneous purchases never spend more than there is") {
  Shop shop;  // ada has 100 points
  std::vector<cosmetics::Item> items;
  for (int i = 0; i < 8; ++i) items.push_back(new_item(shop.world, "Hat", 30));
  std::atomic<int> bought = 0;
  std::vector<std::thread> buyers;
  for (const auto& item : items)
    buyers.emplace_back([&] {
      if (refusal([&] { buy(shop.world, shop.ada, item); }).empty()) ++bought;
    });
  for (auto& buyer : buyers) buyer.join();
  CHECK(bought == 3);
  CHECK(points_of(shop.world, shop.ada) == 10);
  CHECK(shop.world.read(
            [&](db::Tx& tx) { return cosmetics::owned_by(tx, shop.ada.id, {}).total; }) == 3);
}

TEST_CASE("items are filtered and come in pages") {
  Shop shop;
  new_item(shop.world, "Boots", 5, cosmetics::Category::shoes);
  new_item(shop.world, "Sandals", 5, cosmetics::Category::shoes, false);
  const auto found = [&](const cosmetics::Filter& filter, const PageRequest& page = {}) {
    std::vector<std::string> names;
    const auto listed =
        shop.world.read([&](db::Tx& tx) { return cosmetics::list(tx, filter, page); });
    for (const auto& item : listed.items) names.push_back(item.name);
    return std::make_pair(names, listed.total);
  };
  using Names = std::vector<std::string>;
  CHECK(found({}) == std::make_pair(Names{"Straw hat", "Boots", "Sandals"}, std::int64_t(3)));
  CHECK(found({.category = cosmetics::Category::shoes, .rarity = {}, .available = {}}).second == 2);
  CHECK(found({.category = cosmetics::Category::shoes, .rarity = {}, .available = true}).first ==
        Names{"Boots"});
  CHECK(found({.category = {}, .rarity = {}, .available = false}).first == Names{"Sandals"});
  CHECK(found({.category = {}, .rarity = cosmetics::Rarity::rare, .available = {}}).second == 0);
  CHECK(found({}, {.page = 2, .page_size = 2}) ==
        std::make_pair(Names{"Sandals"}, std::int64_t(3)));
}

TEST_CASE("changing an item doesn't take it from its owners") {
  Shop shop;
  buy(shop.world, shop.ada, shop.hat);
  cosmetics::Item changed = shop.hat;
  changed.name = "Panama";
  changed.available = false;
  changed.price_points = 500;
  changed.category = cosmetics::Category::shoes;  // can't be changed
  const auto stored = shop.world.write([&](db::Tx& tx) { return cosmetics::update(tx, changed); });
  CHECK(stored.name == "Panama");
  CHECK(stored.category == cosmetics::Category::hat);
  CHECK(shop.owns(shop.ada));
  changed.id = shop.ada.id;
  CHECK(refusal([&] { shop.world.write([&](db::Tx& tx) { cosmetics::update(tx, changed); }); }) ==
        "404 cosmetic_not_found");
}

}  // namespace
