#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

// What avatars can wear: the items that admins offer, and who owns which. Bought with points, which
// go to the treasury. Functions throw berth::Error.
namespace berth::cosmetics {

inline constexpr std::array<std::string_view, 9> categories = {
    "hat", "hair", "top", "bottom", "shoes", "accessory", "background", "frame", "emote"};
inline constexpr std::array<std::string_view, 4> rarities = {"common", "uncommon", "rare",
                                                             "legendary"};

struct Item {
  std::string id;
  std::string name;
  std::optional<std::string> description;
  std::string category;  // stays as it was created
  std::string rarity;
  std::optional<std::string> asset_url;
  std::int64_t price_points = 0;
  bool available = true;  // whether it can be bought and given; what is owned stays
};

struct Filter {
  std::optional<std::string> category;
  std::optional<std::string> rarity;
  std::optional<bool> available;
};
// Oldest first.
Page<Item> list(db::Tx& tx, const Filter& filter, const PageRequest& page);
// Throws cosmetic_not_found.
Item get(db::Tx& tx, const std::string& id);
Item create(db::Tx& tx, const Item& item);
// Stores every field of `item` but id and category. Throws cosmetic_not_found.
Item update(db::Tx& tx, const Item& item);

struct Owned {
  std::string id;
  Item item;
  Instant acquired_at;
  std::string acquired_via;  // purchase, gift, achievement, promotion
};
// Newest first.
Page<Owned> owned_by(db::Tx& tx, const std::string& user_id, const PageRequest& page);
bool owns(db::Tx& tx, const std::string& user_id, const std::string& item_id);

struct Payer {
  std::string user_id;
  // Of the OAuth token that pays for him: it counts against what he lets the app spend.
  std::optional<std::string> grant_id;
};
struct Acquisition {
  Owned owned;
  std::int64_t paid = 0;
  std::int64_t balance = 0;  // the payer's, afterwards
};
// The item for the payer himself, by a ledger transaction of the kind cosmetic_purchase from him to
// the treasury; none where the price is 0. Refused in this order, and then nothing was changed:
// cosmetic_not_found, cosmetic_unavailable, already_owned, spend_limit_reached,
// insufficient_balance.
Acquisition purchase(db::Tx& tx, const Payer& payer, const std::string& item_id);
// The same for somebody else, of the kind cosmetic_gift. Refused before anything else with
// validation_failed where that is the payer himself, and with user_not_found where there is no such
// user, or a block between the two.
Acquisition give(db::Tx& tx, const Payer& payer, const std::string& item_id,
                 const std::string& to_user_id);

}  // namespace berth::cosmetics
