#include "api/resources/cosmetics/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

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
                Code::bonus_locked},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/extras"},
     .run = WriteHandler{give_cosmetic}},
    {.request = "GET /api/internal/cosmetics",
     .name = "internalListCosmetics",
     .tag = "Internal",
     .summary = "List all items for avatars",
     .text = "Lists all items, oldest first.",
     .guards = admins,
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
