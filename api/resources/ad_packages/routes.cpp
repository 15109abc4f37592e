#include "api/resources/ad_packages/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

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
     .guards = {access, ad_reads},
     .paged = true,
     .answer = {200, "AdPackageList"},
     .served_by = {.page = "/console/campaigns"},
     .run = ReadHandler{market_packages}},
    {.request = "GET /api/v1/ads/purchases",
     .name = "listAdPurchases",
     .tag = "Ad market",
     .summary = "List the app's purchases",
     .text = "Lists the packages that the app has bought, newest first.",
     .guards = {access, ad_reads},
     .paged = true,
     .answer = {200, "AdPackagePurchaseList"},
     .served_by = {.page = "/console/campaigns"},
     .run = ReadHandler{list_purchases}},
    {.request = "GET /api/v1/ads/purchases/{id}",
     .name = "getAdPurchase",
     .tag = "Ad market",
     .summary = "A purchase",
     .text = "Returns a purchase of the app, with its campaigns and what each surface type cost.",
     .guards = {access, ad_reads},
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
     .guards = {access, ad_writes},
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
     .guards = admins,
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
