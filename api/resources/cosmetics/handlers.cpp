// Cosmetics: items for avatars, which are bought and given for points.
#include "api/resources/cosmetics/handlers.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/points/payer.h"
#include "controller/domain/items/cosmetics.h"
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

}  // namespace

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

}  // namespace berth::api
