#include "api/resources/routes.h"

#include "api/resources/cosmetics/handlers.h"

namespace berth::api {
namespace {

std::vector<Param> cosmetic_filters() {
  std::vector<Param> params = paged;
  params.push_back({.name = "category",
                    .type = "string",
                    .description = "Returns only items of this category: hat, hair, top, bottom, "
                                   "shoes, accessory, background, frame or emote.",
                    .example = "hat"});
  params.push_back(
      {.name = "rarity",
       .type = "string",
       .description = "Returns only items of this rarity: common, uncommon, rare or legendary.",
       .example = "common"});
  params.push_back(
      {.name = "available",
       .type = "string",
       .description =
           "Whether the items can be bought: true or false. By default, all items are returned.",
       .example = "true"});
  return params;
}

}  // namespace

std::vector<Route> cosmetics_routes() {
  const Access payer = jwt_or_oauth({Scope::points_spend});
  return {
      {.method = "GET",
       .path = "/api/cosmetics",
       .name = "listCosmetics",
       .tag = "Cosmetics",
       .summary = "List the items for avatars",
       .access = jwt_or_play_session(),
       .rate = account_reads,
       .query = cosmetic_filters(),
       .answer = {200, "CosmeticList"},
       .run = ReadHandler{list_cosmetics}},
      {.method = "GET",
       .path = "/api/cosmetics/mine",
       .name = "myCosmetics",
       .tag = "Cosmetics",
       .summary = "List the caller's items",
       .access = jwt_or_play_session(),
       .rate = account_reads,
       .query = paged,
       .answer = {200, "UserCosmeticList"},
       .run = ReadHandler{my_cosmetics}},
      {.method = "POST",
       .path = "/api/cosmetics/{id}/purchase",
       .name = "purchaseCosmetic",
       .tag = "Cosmetics",
       .summary = "Buy an item with the user's points, which go to the treasury",
       .access = payer,
       .rate = account_writes,
       .stores = Stores::payments,
       .answer = {201, "CosmeticAcquisition"},
       .errors = {Code::cosmetic_not_found, Code::cosmetic_unavailable, Code::already_owned,
                  Code::spend_limit_reached, Code::insufficient_balance},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{purchase_cosmetic}},
      {.method = "POST",
       .path = "/api/cosmetics/{id}/gift",
       .name = "giveCosmetic",
       .tag = "Cosmetics",
       .summary = "Buy an item as a gift for another user",
       .access = payer,
       .rate = account_writes,
       .stores = Stores::payments,
       .body_kind = Body::only_json,
       .body = "GiftRequest",
       .answer = {201, "CosmeticAcquisition"},
       .errors = {Code::user_not_found, Code::cosmetic_not_found, Code::cosmetic_unavailable,
                  Code::already_owned, Code::spend_limit_reached, Code::insufficient_balance,
                  Code::bonus_locked},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{give_cosmetic}},
      {.method = "GET",
       .path = "/api/internal/cosmetics",
       .name = "internalListCosmetics",
       .tag = "Internal",
       .summary = "List all items for avatars",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .query = cosmetic_filters(),
       .answer = {200, "CosmeticList"},
       .run = ReadHandler{list_cosmetics}},
      {.method = "POST",
       .path = "/api/internal/cosmetics",
       .name = "createCosmetic",
       .tag = "Internal",
       .summary = "Create an item",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "CreateCosmeticRequest",
       .answer = {201, "CosmeticEnvelope"},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{create_cosmetic}},
      {.method = "PATCH",
       .path = "/api/internal/cosmetics/{id}",
       .name = "changeCosmetic",
       .tag = "Internal",
       .summary = "Change an item; fields that aren't sent stay",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "ChangeCosmeticRequest",
       .answer = {200, "CosmeticEnvelope"},
       .errors = {Code::cosmetic_not_found},
       .run = WriteHandler{change_cosmetic}},
  };
}

}  // namespace berth::api
