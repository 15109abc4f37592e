#include "api/resources/ad_pricing/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Param list_ad_rates_query[] = {{.name = "surface_type",
                                          .description = "Returns only this surface type.",
                                          .example = "banner"}};

constexpr Access access = oauth_token({Scope::campaigns_manage});

constexpr Placeholder ad_placement_in_path = {"AdPlacementId", "The id of the placement.",
                                              "01936f5e-7c1a-7000-8000-00000000000c"};
constexpr Placeholder pricing_in_path = {"PricingId", "The id of the pricing.",
                                         "01936f5e-7c1a-7000-8000-00000000000d"};

constexpr Route rows[] = {
    {.request = "GET /api/v1/ads/rates",
     .name = "listAdRates",
     .tag = "Ad market",
     .summary = "List the price of an impression for each surface type",
     .text = "Returns what an impression costs at present for each surface type, computed from the "
             "base rate and the demand of the last seven days.",
     .guards = {access, ad_reads},
     .query = list_ad_rates_query,
     .answer = {200, "AdRateList"},
     .served_by = {.page = "/console/campaigns"},
     .run = ReadHandler{market_rates}},
    {.request = "GET /api/v1/ads/pricing",
     .name = "listAdPricing",
     .tag = "Ad market",
     .summary = "List the pricing of placements that is valid at present",
     .text = "Lists the pricing of placements that is valid now, with the rate that follows from "
             "demand.",
     .guards = {access, ad_reads},
     .paged = true,
     .answer = {200, "PlacementPricingList"},
     .served_by = {.page = "/console/campaigns"},
     .run = ReadHandler{market_pricing}},
    {.request = "GET /api/v1/ads/pricing/{ad_placement_id}",
     .name = "getAdPricing",
     .tag = "Ad market",
     .summary = "Show the pricing of a placement that is valid at present",
     .text = "Returns the pricing of one placement that is valid now.",
     .guards = {access, ad_reads},
     .in_path = {&ad_placement_in_path},
     .answer = {200, "PlacementPricingEnvelope"},
     .errors = {Code::pricing_not_found},
     .served_by = {.neither = shown_by_another},
     .run = ReadHandler{market_placement_pricing}},
    {.request = "GET /api/internal/ads/pricing",
     .name = "internalListAdPricings",
     .tag = "Internal",
     .summary = "List all pricing of the ad market",
     .text = "Lists all pricing of placements: past, present and future.",
     .guards = admins,
     .paged = true,
     .answer = {200, "PlacementPricingList"},
     .served_by = {.page = "/console/admin"},
     .run = ReadHandler{internal_pricing}},
    {.request = "POST /api/internal/ads/pricing",
     .name = "createAdPricing",
     .tag = "Internal",
     .summary = "Set the price of a placement for a period of time",
     .text = "Sets the rates of a placement for a period, which may not overlap another one. "
             "Campaigns that pay less than min_rate aren't shown there.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"CreatePlacementPricingRequest"},
     .answer = {201, "PlacementPricingEnvelope"},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{create_ad_pricing}},
    {.request = "PATCH /api/internal/ads/pricing/{id}",
     .name = "changeAdPricing",
     .tag = "Internal",
     .summary = "Change a price of a placement",
     .text = "Changes the fields that are sent, with effect from then on.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&pricing_in_path},
     .body = {"ChangePlacementPricingRequest"},
     .answer = {200, "PlacementPricingEnvelope"},
     .errors = {Code::pricing_not_found},
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{change_ad_pricing}},
};

}  // namespace

std::span<const Route> ad_pricing_routes() { return rows; }

}  // namespace berth::api
