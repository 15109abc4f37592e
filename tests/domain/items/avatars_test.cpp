#include "controller/domain/items/avatars.h"

#include <catch2/catch.hpp>
#include <set>
#include <thread>

#include "controller/domain/lifecycle/user_admin.h"
#include "tests/domain/items/items_world.h"

namespace {

using namespace berth;
using namespace berth::test;

struct Wardrobe {
  World world;
  accounts::User ada = world.new_user("ada");

  avatars::Avatar avatar() {
    return world.write([&](db::Tx& tx) { return avatars::find_or_make(tx, ada.id); });
  }
  std::string equip(const std::vector<std::string>& ids) {
    return refusal([&] { world.write([&](db::Tx& tx) { avatars::equip(tx, ada.id, ids); }); });
  }
  std::string rename(const std::optional<std::string>& name) {
    return refusal([&] {
      world.write([&](db::Tx& tx) {
        avatars::change(tx, {.user_id = ada.id, .display_name = name, .appearance = {}});
      });
    });
  }
  std::string owned(const std::string& category) {
    const auto item =
        new_item(world, category, 0, parse_enum<cosmetics::Category>(category).value());
    buy(world, ada, item);
    return item.id;
  }
};

TEST_CASE("the first look at an avatar creates it, also with many at a time") {
  Wardrobe w;
  CHECK_FALSE(w.world.read([&](db::Tx& tx) { return avatars::find(tx, w.ada.id); }));
  std::vector<std::string> ids(8);
  std::vector<std::thread> lookers;
  for (std::string& id : ids) lookers.emplace_back([&] { id = w.avatar().id; });
  for (auto& looker : lookers) looker.join();
  CHECK(std::set(ids.begin(), ids.end()).size() == 1);
  const auto avatar = w.avatar();
  CHECK(avatar.user_id == w.ada.id);
  CHECK_FALSE(avatar.display_name);
  CHECK(avatar.appearance == "{}");
  CHECK(avatar.equipped.empty());
}

TEST_CASE("fields of an avatar that aren't sent stay as they are") {
  Wardrobe w;
  w.rename("Ada");
  w.world.write([&](db::Tx& tx) {
    avatars::change(tx,
                    {.user_id = w.ada.id, .display_name = {}, .appearance = R"({"skin":"green"})"});
  });
  CHECK(w.avatar().display_name == "Ada");
  CHECK(w.avatar().appearance == R"({"skin":"green"})");
  CHECK(w.rename(std::nullopt) == "");
  CHECK_FALSE(w.avatar().display_name);
  CHECK(w.avatar().appearance == R"({"skin":"green"})");
}

TEST_CASE("a display name has at most 20 characters, whatever their bytes") {
  Wardrobe w;
  std::string name;
  for (int i = 0; i < 20; ++i) name += "🦀";
  CHECK(w.rename(name) == "");
  CHECK(w.avatar().display_name == name);
  CHECK(w.rename(name + "x") == "422 validation_failed");
  CHECK(w.rename("") == "422 validation_failed");
  for (const char* bad : {"  ", "\u200b", "a\nb", "a\tb", "a\u2028b", "a\u0085b", "\u202eada"})
    CHECK(w.rename(bad) == "422 validation_failed");
  CHECK(w.avatar().display_name == name);
}

TEST_CASE("an appearance is limited in size and depth") {
  Wardrobe w;
  const auto dress = [&](size_t bytes) {
    return refusal([&] {
      w.world.write([&](db::Tx& tx) {
        avatars::change(tx, {.user_id = w.ada.id,
                             .display_name = {},
                             .appearance = "{\"a\":\"" + std::string(bytes - 8, 'x') + "\"}"});
      });
    });
  };
  CHECK(dress(avatars::max_appearance_bytes) == "");
  CHECK(dress(avatars::max_appearance_bytes + 1) == "422 validation_failed");
}

TEST_CASE("an avatar wears only what its user owns, one item of each category") {
  Wardrobe w;
  const std::string hat = w.owned("hat"), other_hat = w.owned("hat"), shoes = w.owned("shoes");
  CHECK(w.equip({shoes, hat}) == "");
  CHECK(w.avatar().equipped == std::vector{hat, shoes});
  CHECK(w.equip({new_item(w.world, "Not mine").id}) == "422 validation_failed");
  CHECK(w.equip({hat, other_hat}) == "422 validation_failed");
  CHECK(w.equip({hat, hat}) == "422 validation_failed");
  CHECK(w.equip({w.ada.id}) == "422 validation_failed");
  CHECK(w.avatar().equipped == std::vector{hat, shoes});  // a refusal takes nothing off
  CHECK(w.equip({other_hat}) == "");
  CHECK(w.avatar().equipped == std::vector{other_hat});
  CHECK(w.equip({}) == "");
  CHECK(w.avatar().equipped.empty());
}

TEST_CASE("avatar and items are deleted with the account") {
  Wardrobe w;
  CHECK(w.equip({w.owned("hat")}) == "");
  w.world.write([&](db::Tx& tx) {
    accounts::delete_account(tx, *accounts::find(tx, w.ada.id), w.world.keys);
  });
  for (const char* sql : {"SELECT count(*) FROM avatars", "SELECT count(*) FROM user_cosmetics",
                          "SELECT count(*) FROM equipped_cosmetics"})
    CHECK(w.world.read([&](db::Tx& tx) { return tx.number(sql); }) == 0);
}

}  // namespace
