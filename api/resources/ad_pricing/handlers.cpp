// Rates and pricing.
#include "api/resources/ad_pricing/handlers.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
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

}  // namespace

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

}  // namespace berth::api
