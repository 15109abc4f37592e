// Packages and their purchases.
#include "api/resources/ad_packages/handlers.h"

#include "api/gate/encode.h"
#include "controller/domain/ads/packages.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

json encode(const ads::Package& package) {
  return {{"id", package.id},
          {"name", package.name},
          {"description", or_null(package.description)},
          {"discount_percentage", package.discount_percentage},
          {"min_surfaces", package.min_surfaces},
          {"min_impressions", package.min_impressions},
          {"is_active", package.is_active},
          {"inserted_at", to_iso8601(package.inserted_at)},
          {"updated_at", to_iso8601(package.updated_at)}};
}

json encode(const ads::Purchase& purchase) {
  json ids = json::array();
  json surfaces = json::array();
  for (const ads::BoughtSurface& one : purchase.surfaces) {
    ids.push_back(one.campaign_id);
    surfaces.push_back({{"surface_type", one.surface_type},
                        {"impressions", one.impressions},
                        {"rate", one.rate},
                        {"discount", one.discount},
                        {"charged", one.charged},
                        {"campaign_id", one.campaign_id}});
  }
  return {{"id", purchase.id},
          {"ad_package_id", purchase.ad_package_id},
          {"operator_id", purchase.app_id},
          {"campaign_ids", std::move(ids)},
          {"surfaces", std::move(surfaces)},
          {"subtotal", purchase.subtotal},
          {"discount_amount", purchase.discount_amount},
          {"rake_amount", purchase.rake_amount},
          {"total_charged", purchase.total_charged},
          {"status", purchase.status},
          {"inserted_at", to_iso8601(purchase.inserted_at)},
          {"updated_at", to_iso8601(purchase.updated_at)}};
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

}  // namespace

Reply market_packages(db::Tx& tx, const Call& call, const Services&) {
  return {.body =
              encode_page("packages", ads::list_packages(tx, ads::Packages::active, call.page()),
                          [](const ads::Package& one) { return encode(one); })};
}

Reply list_purchases(db::Tx& tx, const Call& call, const Services&) {
  return {.body =
              encode_page("purchases", ads::list_purchases(tx, call.caller->app_id, call.page()),
                          [](const ads::Purchase& one) { return encode(one); })};
}

Reply get_purchase(db::Tx& tx, const Call& call, const Services&) {
  return {
      .body = {{"purchase", encode(ads::get_owned_purchase(tx, call.caller->app_id, call.id()))}}};
}

Reply buy_package(db::Tx& tx, const Call& call, const Services&) {
  ads::PurchaseOrder order = {
      .ad_package_id = call.body.at("ad_package_id"), .surfaces = {}, .name = call.body.at("name")};
  for (const json& surface : call.body.at("surfaces"))
    order.surfaces.push_back(
        {.surface_type = surface.at("surface_type"), .impressions = surface.at("impressions")});
  const auto purchase = ads::buy(tx, call.caller->app_id, order);
  return {.status = 201, .body = {{"purchase", encode(purchase)}}};
}

Reply internal_packages(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("packages", ads::list_packages(tx, ads::Packages::all, call.page()),
                              [](const ads::Package& one) { return encode(one); })};
}

Reply create_ad_package(db::Tx& tx, const Call& call, const Services&) {
  const auto package = ads::create_package(tx, decode_package(call.body, {}));
  audit::record(tx, call.admin, "ad_package.create", package.id, call.body.dump());
  return {.status = 201, .body = {{"package", encode(package)}}};
}

Reply change_ad_package(db::Tx& tx, const Call& call, const Services&) {
  const auto package =
      ads::update_package(tx, decode_package(call.body, ads::get_package(tx, call.id())));
  audit::record(tx, call.admin, "ad_package.change", package.id, call.body.dump());
  return {.body = {{"package", encode(package)}}};
}

}  // namespace berth::api
