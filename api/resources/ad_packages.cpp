// Handlers of the ad market's packages and of operators' purchases.
#include "api/gate/encode.h"
#include "api/resources/shared.h"
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

constexpr Access access = oauth_token({Scope::campaigns_manage});

constexpr Placeholder package_in_path = {"PackageId", "The id of the package.",
                                         "01936f5e-7c1a-7000-8000-00000000000f"};
constexpr Placeholder purchase_in_path = {"PurchaseId", "The id of the purchase.",
                                          "01936f5e-7c1a-7000-8000-000000000010"};

constexpr Route rows[] = {
    {.request = "GET /api/v1/ads/packages",
     .name = "listAdPackages",
     .tag = "Ad market",
     .summary = "List the packages that can be bought",
     .text = "Lists the active packages: discounts for buying several surface types or many "
             "impressions at once.",
     .guards = {to_viewers(access), ad_reads},
     .paged = true,
     .answer = {200, "AdPackageList"},
     .served_by = {.page = "/console/campaigns"},
     .run = ReadHandler{market_packages}},
    {.request = "GET /api/v1/ads/purchases",
     .name = "listAdPurchases",
     .tag = "Ad market",
     .summary = "List the app's purchases",
     .text = "Lists the packages that the app has bought, newest first.",
     .guards = {to_viewers(access), ad_reads},
     .paged = true,
     .answer = {200, "AdPackagePurchaseList"},
     .served_by = {.page = "/console/campaigns"},
     .run = ReadHandler{list_purchases}},
    {.request = "GET /api/v1/ads/purchases/{id}",
     .name = "getAdPurchase",
     .tag = "Ad market",
     .summary = "A purchase",
     .text = "Returns a purchase of the app, with its campaigns and what each surface type cost.",
     .guards = {to_viewers(access), ad_reads},
     .in_path = {&purchase_in_path},
     .answer = {200, "AdPackagePurchaseEnvelope"},
     .errors = {Code::purchase_not_found, Code::forbidden},
     .served_by = {.neither = shown_by_another},
     .run = ReadHandler{get_purchase}},
    {.request = "POST /api/v1/ads/purchases",
     .name = "buyAdPackage",
     .tag = "Ad market",
     .summary = "Buy a package, which creates a campaign for each surface type",
     .text = "Charges the app's balance with the rates of the surfaces less the discount, and "
             "creates an active campaign for each surface type. Cancelling all of them makes the "
             "purchase refunded.",
     .guards = {to_billing(access), ad_writes},
     .stores = Stores::ads,
     .body = {"BuyAdPackageRequest"},
     .answer = {201, "AdPackagePurchaseEnvelope"},
     .errors = {Code::package_not_found, Code::insufficient_balance, Code::bonus_locked},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/campaigns"},
     .run = WriteHandler{buy_package}},
    {.request = "GET /api/internal/ads/packages",
     .name = "internalListAdPackages",
     .tag = "Internal",
     .summary = "List all packages of the ad market",
     .text = "Lists all packages, also those that can't be bought, oldest first.",
     .guards = every_admin,
     .paged = true,
     .answer = {200, "AdPackageList"},
     .served_by = {.page = "/console/admin"},
     .run = ReadHandler{internal_packages}},
    {.request = "POST /api/internal/ads/packages",
     .name = "createAdPackage",
     .tag = "Internal",
     .summary = "Add a package",
     .text = "Adds a package that operators can buy at once, unless is_active is false.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"CreateAdPackageRequest"},
     .answer = {201, "AdPackageEnvelope"},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{create_ad_package}},
    {.request = "PATCH /api/internal/ads/packages/{id}",
     .name = "changeAdPackage",
     .tag = "Internal",
     .summary = "Change a package",
     .text = "Changes the fields that are sent. Purchases that were made before stay as they are.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&package_in_path},
     .body = {"ChangeAdPackageRequest"},
     .answer = {200, "AdPackageEnvelope"},
     .errors = {Code::package_not_found},
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{change_ad_package}},
};

}  // namespace

std::span<const Route> ad_packages_routes() { return rows; }

}  // namespace berth::api
