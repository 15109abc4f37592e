// Cosmetics: items for avatars, which users buy with points, for themselves or as a gift.
#include "controller/domain/items/cosmetics.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/points.h"
#include "api/resources/shared.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

using cosmetics::Item;
using cosmetics::Owned;

json encode(const Item& item) {
  return {{"id", item.id},
          {"name", item.name},
          {"description", or_null(item.description)},
          {"category", item.category},
          {"rarity", item.rarity},
          {"price_points", item.price_points},
          {"available", item.available},
          {"asset_url", or_null(item.asset_url)}};
}

json encode_owned(const Owned& owned) {
  return {{"id", owned.id},
          {"cosmetic_item_id", owned.item.id},
          {"acquired_at", to_iso8601(owned.acquired_at)},
          {"acquired_via", owned.acquired_via},
          {"item",
           {{"id", owned.item.id},
            {"name", owned.item.name},
            {"category", owned.item.category},
            {"rarity", owned.item.rarity},
            {"asset_url", or_null(owned.item.asset_url)}}}};
}

Reply encode(const cosmetics::Acquisition& acquisition) {
  json body = encode_owned(acquisition.owned);
  body["user_cosmetic"] = encode_owned(acquisition.owned);
  body["points_spent"] = acquisition.paid;
  body["points"] = acquisition.balance;
  return {.status = 201, .body = std::move(body)};
}

cosmetics::Filter decode_filter(const Call& call) {
  const auto available = call.query("available");
  if (available && *available != "true" && *available != "false")
    throw invalid_field("available", "must be true or false");
  return {.category = enum_query<cosmetics::Category>(call, "category"),
          .rarity = enum_query<cosmetics::Rarity>(call, "rarity"),
          .available = available ? std::optional(*available == "true") : std::nullopt};
}

// Sets the fields of `item` that a request may set and its body has.
void decode_into(Item& item, const json& body) {
  set(item.name, body, "name");
  set(item.description, body, "description");
  set(item.rarity, body, "rarity");
  set(item.asset_url, body, "asset_url");
  set(item.price_points, body, "price_points");
  set(item.available, body, "available");
}

Reply list_cosmetics(db::Tx& tx, const Call& call, const Services&) {
  const auto page = cosmetics::list(tx, decode_filter(call), call.page());
  return {.body = encode_page("cosmetics", page, [](const Item& item) { return encode(item); })};
}

Reply my_cosmetics(db::Tx& tx, const Call& call, const Services&) {
  const auto page = cosmetics::owned_by(tx, call.user->id, call.page());
  return {.body = encode_page("cosmetics", page, encode_owned)};
}

Reply purchase_cosmetic(db::Tx& tx, const Call& call, const Services&) {
  return encode(cosmetics::purchase(tx, payer_of(call), call.id()));
}

Reply give_cosmetic(db::Tx& tx, const Call& call, const Services&) {
  return encode(cosmetics::give(tx, payer_of(call), call.id(), call.body.at("to_user_id")));
}

Reply create_cosmetic(db::Tx& tx, const Call& call, const Services&) {
  Item wanted;
  decode_into(wanted, call.body);
  set(wanted.category, call.body, "category");
  const Item item = cosmetics::create(tx, wanted);
  audit::record(tx, call.admin, "cosmetic.create", item.id, call.body.dump());
  return {.status = 201, .body = {{"cosmetic", encode(item)}}};
}

Reply change_cosmetic(db::Tx& tx, const Call& call, const Services&) {
  Item item = cosmetics::get(tx, call.id());
  decode_into(item, call.body);
  const Item changed = cosmetics::update(tx, item);
  audit::record(tx, call.admin, "cosmetic.change", item.id, call.body.dump());
  return {.body = {{"cosmetic", encode(changed)}}};
}

constexpr Param cosmetic_query[] = {
    {.name = "category",
     .description = "Returns only items of this category: hat, hair, top, bottom, "
                    "shoes, accessory, background, frame or emote.",
     .example = "hat"},
    {.name = "rarity",
     .description = "Returns only items of this rarity: common, uncommon, rare or legendary.",
     .example = "common"},
    {.name = "available",
     .description =
         "Whether the items can be bought: true or false. By default, all items are returned.",
     .example = "true"}};

constexpr Access payer = jwt_or_oauth({Scope::points_spend});

constexpr Placeholder cosmetic_in_path = {"CosmeticId", "The id of the item.",
                                          "01936f5e-7c1a-7000-8000-00000000000b"};

constexpr Route rows[] = {
    {.request = "GET /api/cosmetics",
     .name = "listCosmetics",
     .tag = "Cosmetics",
     .summary = "List the items for avatars",
     .text = "Lists the items that avatars can wear, oldest first.",
     .guards = {jwt_or_play_session(), account_reads},
     .paged = true,
     .query = cosmetic_query,
     .answer = {200, "CosmeticList"},
     .served_by = {.page = "/console/extras"},
     .run = ReadHandler{list_cosmetics}},
    {.request = "GET /api/cosmetics/mine",
     .name = "myCosmetics",
     .tag = "Cosmetics",
     .summary = "List the caller's items",
     .text = "Lists the items that the caller owns, newest first, and how they got each.",
     .guards = {jwt_or_play_session(), account_reads},
     .paged = true,
     .answer = {200, "UserCosmeticList"},
     .served_by = {.page = "/console/extras"},
     .run = ReadHandler{my_cosmetics}},
    {.request = "POST /api/cosmetics/{id}/purchase",
     .name = "purchaseCosmetic",
     .tag = "Cosmetics",
     .summary = "Buy an item with the user's points, which go to the treasury",
     .text = "Takes the item's price from the user's points, for the treasury, and makes the item "
             "theirs at once. An app's spending limit counts.",
     .guards = {payer, account_writes},
     .stores = Stores::payments,
     .in_path = {&cosmetic_in_path},
     .answer = {201, "CosmeticAcquisition"},
     .errors = {Code::cosmetic_not_found, Code::cosmetic_unavailable, Code::already_owned,
                Code::spend_limit_reached, Code::insufficient_balance},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/extras"},
     .run = WriteHandler{purchase_cosmetic}},
    {.request = "POST /api/cosmetics/{id}/gift",
     .name = "giveCosmetic",
     .tag = "Cosmetics",
     .summary = "Buy an item as a gift for another user",
     .text = "Takes the item's price from the caller's points, for the treasury, and makes the "
             "item the other user's. An app's spending limit counts.",
     .guards = {payer, account_writes},
     .stores = Stores::payments,
     .in_path = {&cosmetic_in_path},
     .body = {"GiftRequest"},
     .answer = {201, "CosmeticAcquisition"},
     .errors = {Code::user_not_found, Code::cosmetic_not_found, Code::cosmetic_unavailable,
                Code::already_owned, Code::spend_limit_reached, Code::insufficient_balance,
                Code::bonus_locked, Code::guest_account},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/extras"},
     .run = WriteHandler{give_cosmetic}},
    {.request = "GET /api/internal/cosmetics",
     .name = "internalListCosmetics",
     .tag = "Internal",
     .summary = "List all items for avatars",
     .text = "Lists all items, oldest first.",
     .guards = every_admin,
     .paged = true,
     .query = cosmetic_query,
     .answer = {200, "CosmeticList"},
     .served_by = {.page = "/console/admin"},
     .run = ReadHandler{list_cosmetics}},
    {.request = "POST /api/internal/cosmetics",
     .name = "createCosmetic",
     .tag = "Internal",
     .summary = "Create an item",
     .text = "Adds an item, which can be bought at once unless available is false.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"CreateCosmeticRequest"},
     .answer = {201, "CosmeticEnvelope"},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{create_cosmetic}},
    {.request = "PATCH /api/internal/cosmetics/{id}",
     .name = "changeCosmetic",
     .tag = "Internal",
     .summary = "Change an item; fields that aren't sent stay",
     .text = "Changes the fields that are sent. A new price applies to later purchases; owners "
             "keep what they have.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&cosmetic_in_path},
     .body = {"ChangeCosmeticRequest"},
     .answer = {200, "CosmeticEnvelope"},
     .errors = {Code::cosmetic_not_found},
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{change_cosmetic}},
};

}  // namespace

std::span<const Route> cosmetics_routes() { return rows; }

}  // namespace berth::api
