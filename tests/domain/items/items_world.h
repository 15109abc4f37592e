#pragma once

#include "controller/domain/items/avatars.h"
#include "controller/domain/items/cosmetics.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "tests/domain/world.h"

// Users with points, and items to spend them on.
namespace berth::test {

inline cosmetics::Item new_item(World& world, const std::string& name, std::int64_t price = 30,
                                cosmetics::Category category = cosmetics::Category::hat,
                                bool available = true) {
  return world.write([&](db::Tx& tx) {
    return cosmetics::create(tx, {.id = {},
                                  .name = name,
                                  .description = {},
                                  .category = category,
                                  .rarity = cosmetics::Rarity::common,
                                  .asset_url = {},
                                  .price_points = price,
                                  .available = available});
  });
}

inline cosmetics::Acquisition buy(World& world, const accounts::User& user,
                                  const cosmetics::Item& item,
                                  const std::optional<std::string>& grant_id = {}) {
  return world.write([&](db::Tx& tx) {
    return cosmetics::purchase(tx, {.user_id = user.id, .grant_id = grant_id}, item.id);
  });
}

inline std::int64_t points_of(World& world, const accounts::User& user) {
  return world.balance(ledger::user_account(user.id));
}

}  // namespace berth::test
