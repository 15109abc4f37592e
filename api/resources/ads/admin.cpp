// The ad market for administrators, under /api/internal/ads.
#include "api/resources/ads/encode_market.h"
#include "api/resources/handlers.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

ads::Placement decode_placement(const json& body, ads::Placement placement) {
  placement.name = body.value("name", placement.name);
  placement.surface_type = body.value("surface_type", placement.surface_type);
  placement.is_active = body.value("is_active", placement.is_active);
  if (body.contains("app_id")) placement.app_id = text_or_nothing(body, "app_id");
  if (body.contains("description"))
    placement.description = text_or_nothing(body, "description").value_or("");
  return placement;
}

ads::Pricing decode_pricing(const json& body, ads::Pricing pricing) {
  pricing.ad_placement_id = body.value("ad_placement_id", pricing.ad_placement_id);
  pricing.base_rate = body.value("base_rate", pricing.base_rate);
  pricing.min_rate = body.value("min_rate", pricing.min_rate);
  pricing.max_rate = body.value("max_rate", pricing.max_rate);
  if (const auto from = instant_or_nothing(body, "effective_from")) pricing.effective_from = *from;
  if (body.contains("effective_until"))
    pricing.effective_until = instant_or_nothing(body, "effective_until");
  return pricing;
}

ads::Package decode_package(const json& body, ads::Package package) {
  package.name = body.value("name", package.name);
  if (body.contains("description")) package.description = text_or_nothing(body, "description");
  package.discount_percentage = body.value("discount_percentage", package.discount_percentage);
  package.min_surfaces = body.value("min_surfaces", package.min_surfaces);
  package.min_impressions = body.value("min_impressions", package.min_impressions);
  package.is_active = body.value("is_active", package.is_active);
  return package;
}

void audit(db::Tx& tx, const Call& call, const char* action, const std::string& id) {
  audit::record(tx, call.admin, action, id, call.body.dump());
}

}  // namespace

Reply internal_placements(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("placements", ads::list_placements(tx, ads::Which::all, call.page()),
                              [](const ads::Placement& one) { return encode(one); })};
}

Reply create_ad_placement(db::Tx& tx, const Call& call, const Services&) {
  const auto placement = ads::create_placement(tx, decode_placement(call.body, {}));
  audit(tx, call, "ad_placement.create", placement.id);
  return {.status = 201, .body = {{"placement", encode(placement)}}};
}

Reply change_ad_placement(db::Tx& tx, const Call& call, const Services&) {
  const auto placement =
      ads::update_placement(tx, decode_placement(call.body, ads::get_placement(tx, call.id())));
  audit(tx, call, "ad_placement.change", placement.id);
  return {.body = {{"placement", encode(placement)}}};
}

Reply internal_pricing(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("pricing", ads::list_pricing(tx, ads::Which::all, call.page()),
                              [](const ads::Pricing& one) { return encode(one); })};
}

Reply create_ad_pricing(db::Tx& tx, const Call& call, const Services&) {
  const auto pricing =
      ads::create_pricing(tx, decode_pricing(call.body, {.effective_from = tx.now()}));
  audit(tx, call, "ad_pricing.create", pricing.id);
  return {.status = 201, .body = {{"pricing", encode(pricing)}}};
}

Reply change_ad_pricing(db::Tx& tx, const Call& call, const Services&) {
  const auto pricing =
      ads::update_pricing(tx, decode_pricing(call.body, ads::get_pricing(tx, call.id())));
  audit(tx, call, "ad_pricing.change", pricing.id);
  return {.body = {{"pricing", encode(pricing)}}};
}

Reply internal_packages(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("packages", ads::list_packages(tx, ads::Packages::all, call.page()),
                              [](const ads::Package& one) { return encode(one); })};
}

Reply create_ad_package(db::Tx& tx, const Call& call, const Services&) {
  const auto package = ads::create_package(tx, decode_package(call.body, {}));
  audit(tx, call, "ad_package.create", package.id);
  return {.status = 201, .body = {{"package", encode(package)}}};
}

Reply change_ad_package(db::Tx& tx, const Call& call, const Services&) {
  const auto package =
      ads::update_package(tx, decode_package(call.body, ads::get_package(tx, call.id())));
  audit(tx, call, "ad_package.change", package.id);
  return {.body = {{"package", encode(package)}}};
}

Reply internal_segments(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("segments", ads::list_segments(tx, std::nullopt, call.page()),
                              [](const ads::AudienceSegment& one) { return encode(one); })};
}

Reply create_ad_segment(db::Tx& tx, const Call& call, const Services&) {
  const auto segment = ads::create_segment(tx, decode_segment(call.body, {}));
  audit(tx, call, "ad_segment.create", segment.id);
  return {.status = 201, .body = {{"segment", encode(segment)}}};
}

Reply change_ad_segment(db::Tx& tx, const Call& call, const Services&) {
  const auto segment =
      ads::update_segment(tx, decode_segment(call.body, ads::get_segment(tx, call.id())));
  audit(tx, call, "ad_segment.change", segment.id);
  return {.body = {{"segment", encode(segment)}}};
}

}  // namespace berth::api
