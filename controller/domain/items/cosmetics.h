#pragma once

#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/oauth/debits.h"

// Cosmetics: the items that administrators offer for avatars, and who owns them. They are bought
// with points, which go to the treasury. The functions throw berth::Error.
namespace berth::cosmetics {

enum class Category { hat, hair, top, bottom, shoes, accessory, background, frame, emote };
constexpr auto texts_of(Category) {
  return EnumTexts<Category::emote>{"hat",       "hair",       "top",   "bottom", "shoes",
                                    "accessory", "background", "frame", "emote"};
}
enum class Rarity { common, uncommon, rare, legendary };
constexpr auto texts_of(Rarity) {
  return EnumTexts<Rarity::legendary>{"common", "uncommon", "rare", "legendary"};
}

struct Item {
  std::string id;
  std::string name;
  std::optional<std::string> description;
  Category category = {};  // can't be changed
  Rarity rarity = Rarity::common;
  std::optional<std::string> asset_url;
  std::int64_t price_points = 0;
  bool available = true;  // whether it can be bought and given; owned items stay owned
};

struct Filter {
  std::optional<Category> category;
  std::optional<Rarity> rarity;
  std::optional<bool> available;
};
// The items that match the filter, oldest first.
Page<Item> list(db::Tx& tx, const Filter& filter, const PageRequest& page);
// Throws cosmetic_not_found.
Item get(db::Tx& tx, const std::string& id);
Item create(db::Tx& tx, const Item& item);
// Stores all fields of `item` except id and category. Throws cosmetic_not_found.
Item update(db::Tx& tx, const Item& item);

enum class AcquiredVia { purchase, gift, achievement, promotion };
constexpr auto texts_of(AcquiredVia) {
  return EnumTexts<AcquiredVia::promotion>{"purchase", "gift", "achievement", "promotion"};
}

struct Owned {
  std::string id;
  Item item;
  Instant acquired_at;
  AcquiredVia acquired_via = AcquiredVia::purchase;
};
// The user's items, newest first.
Page<Owned> owned_by(db::Tx& tx, const std::string& user_id, const PageRequest& page);
bool owns(db::Tx& tx, const std::string& user_id, const std::string& item_id);

using Payer = debits::Payer;
struct Acquisition {
  Owned owned;
  std::int64_t paid = 0;
  std::int64_t balance = 0;  // the payer's balance afterwards
};
// Buys an item for the payer, by a ledger transaction of kind cosmetic_purchase from the payer to
// the treasury; a price of 0 needs none. Refusals come in this order and change nothing:
// cosmetic_not_found, cosmetic_unavailable, already_owned, insufficient_balance,
// spend_limit_reached.
Acquisition purchase(db::Tx& tx, const Payer& payer, const std::string& item_id);
// Buys an item for another user, by a transaction of kind cosmetic_gift. Before the refusals of
// purchase(), throws validation_failed if the recipient is the payer, and user_not_found if there
// is no such user or a block between the two.
Acquisition give(db::Tx& tx, const Payer& payer, const std::string& item_id,
                 const std::string& to_user_id);

}  // namespace berth::cosmetics
