#include "api/resources/ad_placements/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Access access = oauth_token({Scope::campaigns_manage});

constexpr Placeholder placement_in_path = {"PlacementId", "The id of the placement.",
                                           "01936f5e-7c1a-7000-8000-00000000000c"};

constexpr Route rows[] = {
    {.request = "GET /api/v1/ads/placements",
     .name = "listAdPlacements",
     .tag = "Ad market",
     .summary = "List the places where ads can be shown",
     .text = "Lists the active placements, in which campaigns can be placed.",
     .guards = {access, ad_reads},
     .paged = true,
     .answer = {200, "AdPlacementList"},
     .served_by = {.page = "/console/campaigns"},
     .run = ReadHandler{market_placements}},
    {.request = "GET /api/internal/ads/placements",
     .name = "internalListAdPlacements",
     .tag = "Internal",
     .summary = "List all placements of the ad market",
     .text = "Lists all placements, also inactive ones, oldest first.",
     .guards = admins,
     .paged = true,
     .answer = {200, "AdPlacementList"},
     .served_by = {.page = "/console/admin"},
     .run = ReadHandler{internal_placements}},
    {.request = "POST /api/internal/ads/placements",
     .name = "createAdPlacement",
     .tag = "Internal",
     .summary = "Add a place where ads can be shown",
     .text = "Adds a placement of one surface type, for one app or for all.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"CreateAdPlacementRequest"},
     .answer = {201, "AdPlacementEnvelope"},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{create_ad_placement}},
    {.request = "PATCH /api/internal/ads/placements/{id}",
     .name = "changeAdPlacement",
     .tag = "Internal",
     .summary = "Change a place where ads can be shown",
     .text = "Changes the fields that are sent. In an inactive placement no ads are served.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&placement_in_path},
     .body = {"ChangeAdPlacementRequest"},
     .answer = {200, "AdPlacementEnvelope"},
     .errors = {Code::placement_not_found},
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{change_ad_placement}},
};

}  // namespace

std::span<const Route> ad_placements_routes() { return rows; }

}  // namespace berth::api
