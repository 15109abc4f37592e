// Handlers of the prices of ads, for each surface type and each placement.
#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/ads/market.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

// Returns a number that is stored in hundredths.
double multiplier(std::int64_t hundredths) { return double(hundredths) / 100.0; }

json encode(const ads::Rate& rate) {
  return {{"surface_type", rate.surface_type},
          {"base_rate", rate.base_rate},
          {"demand_multiplier", multiplier(rate.demand)},
          {"popularity_score", multiplier(rate.popularity)},
          {"effective_rate", rate.effective_rate()},
          {"floor_price", rate.floor_price},
          {"ceiling_price", rate.ceiling_price()}};
}

json encode(const ads::Pricing& pricing) {
  return {{"id", pricing.id},
          {"ad_placement_id", pricing.ad_placement_id},
          {"base_rate", pricing.base_rate},
          {"min_rate", pricing.min_rate},
          {"max_rate", pricing.max_rate},
          {"effective_rate", pricing.effective_rate()},
          {"demand_multiplier", multiplier(pricing.demand)},
          {"effective_from", to_iso8601(pricing.effective_from)},
          {"effective_until", or_null(pricing.effective_until)},
          {"inserted_at", to_iso8601(pricing.inserted_at)},
          {"updated_at", to_iso8601(pricing.updated_at)}};
}

ads::Pricing decode_pricing(const json& body, ads::Pricing pricing) {
  pricing.ad_placement_id = body.value("ad_placement_id", pricing.ad_placement_id);
  pricing.base_rate = body.value("base_rate", pricing.base_rate);
  pricing.min_rate = body.value("min_rate", pricing.min_rate);
  pricing.max_rate = body.value("max_rate", pricing.max_rate);
  if (const auto from = instant_or_nothing(body, "effective_from")) pricing.effective_from = *from;
  if (body.contains("effective_until"))
    pricing.effective_until = end_or_nothing(body, "effective_until");
  return pricing;
}

Reply market_rates(db::Tx& tx, const Call& call, const Services&) {
  const auto wanted = enum_query<ads::SurfaceType>(call, "surface_type");
  auto rates = wanted ? std::vector{ads::rate_of(tx, *wanted)} : ads::rates(tx);
  return {.body = encode_page("rates", page_of(std::move(rates), {}),
                              [](const ads::Rate& one) { return encode(one); })};
}

Reply market_pricing(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("pricing", ads::list_pricing(tx, ads::Which::active, call.page()),
                              [](const ads::Pricing& one) { return encode(one); })};
}

Reply market_placement_pricing(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"pricing", encode(ads::current_pricing(tx, call.id("ad_placement_id")))}}};
}

Reply internal_pricing(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("pricing", ads::list_pricing(tx, ads::Which::all, call.page()),
                              [](const ads::Pricing& one) { return encode(one); })};
}

Reply create_ad_pricing(db::Tx& tx, const Call& call, const Services&) {
  const auto pricing =
      ads::create_pricing(tx, decode_pricing(call.body, {.effective_from = tx.now()}));
  audit::record(tx, call.admin, "ad_pricing.create", pricing.id, call.body.dump());
  return {.status = 201, .body = {{"pricing", encode(pricing)}}};
}

Reply change_ad_pricing(db::Tx& tx, const Call& call, const Services&) {
  const auto pricing =
      ads::update_pricing(tx, decode_pricing(call.body, ads::get_pricing(tx, call.id())));
  audit::record(tx, call.admin, "ad_pricing.change", pricing.id, call.body.dump());
  return {.body = {{"pricing", encode(pricing)}}};
}

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
     .text = "Returns what an impression currently costs for each surface type, computed from the "
             "base rate and the demand of the last seven days.",
     .guards = {to_viewers(access), ad_reads},
     .query = list_ad_rates_query,
     .answer = {200, "AdRateList"},
     .served_by = {.page = "/console/campaigns"},
     .run = ReadHandler{market_rates}},
    {.request = "GET /api/v1/ads/pricing",
     .name = "listAdPricing",
     .tag = "Ad market",
     .summary = "List the pricing of placements that is currently valid",
     .text = "Lists the pricing of placements that is valid now, with the rate that follows from "
             "demand.",
     .guards = {to_viewers(access), ad_reads},
     .paged = true,
     .answer = {200, "PlacementPricingList"},
     .served_by = {.page = "/console/campaigns"},
     .run = ReadHandler{market_pricing}},
    {.request = "GET /api/v1/ads/pricing/{ad_placement_id}",
     .name = "getAdPricing",
     .tag = "Ad market",
     .summary = "Show the pricing of a placement that is currently valid",
     .text = "Returns the pricing of one placement that is valid now.",
     .guards = {to_viewers(access), ad_reads},
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
     .guards = every_admin,
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
