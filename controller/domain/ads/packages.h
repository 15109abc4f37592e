#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/kernel/page.h"

// Packages: impressions on several surface types at their present rates, with a discount. Buying a
// package creates a campaign for each surface type, in one transaction.
namespace berth::ads {

struct Package {
  std::string id = {};
  std::string name = {};
  std::optional<std::string> description = {};
  std::int64_t discount_percentage = 0;  // 0 to 90
  std::int64_t min_surfaces = 1;
  std::int64_t min_impressions = 1;  // sum over all surfaces
  bool is_active = true;
  Instant inserted_at = {};
  Instant updated_at = {};
};
Package create_package(db::Tx& tx, const Package& package);
// Stores every field. Throws package_not_found, as get_package() does.
Package update_package(db::Tx& tx, const Package& package);
Package get_package(db::Tx& tx, const std::string& id);
enum class Packages { active, all };
Page<Package> list_packages(db::Tx& tx, Packages which, const PageRequest& page);

struct WantedSurface {
  SurfaceType surface_type = {};
  std::int64_t impressions = 0;
};
struct BoughtSurface {
  SurfaceType surface_type = {};
  std::int64_t impressions = 0;
  std::int64_t rate = 0;      // points for each impression, by the surface type's rate
  std::int64_t discount = 0;  // floor(rate × impressions × discount_percentage / 100)
  std::int64_t charged = 0;   // rate × impressions − discount, which is the campaign's payment
  std::string campaign_id = {};
};
// `refunded` means that all campaigns of the purchase were cancelled.
enum class PurchaseStatus { completed, refunded };
constexpr auto texts_of(PurchaseStatus) {
  return EnumTexts<PurchaseStatus::refunded>{"completed", "refunded"};
}
struct Purchase {
  std::string id = {};
  std::string ad_package_id = {};
  std::string app_id = {};
  std::vector<BoughtSurface> surfaces = {};
  // Sums over the surfaces:
  std::int64_t subtotal = 0;
  std::int64_t discount_amount = 0;
  std::int64_t rake_amount = 0;  // the campaigns' rakes, part of total_charged
  std::int64_t total_charged = 0;
  PurchaseStatus status = PurchaseStatus::completed;
  Instant inserted_at = {};
  Instant updated_at = {};
};
struct PurchaseOrder {
  std::string ad_package_id;
  std::vector<WantedSurface> surfaces;
  std::string name;  // name of the campaigns
};
// Buys a package; its campaigns pay floor(budget / impressions) for an impression. Throws
// package_not_found, insufficient_balance, and validation_failed if the package's minimums aren't
// met, it is no longer offered, a surface type is named twice, or the price is so low that an
// impression would pay nothing.
Purchase buy(db::Tx& tx, const std::string& app_id, const PurchaseOrder& order);
// Throws purchase_not_found, and forbidden if another app owns it.
Purchase get_owned_purchase(db::Tx& tx, const std::string& app_id, const std::string& id);
Page<Purchase> list_purchases(db::Tx& tx, const std::string& app_id, const PageRequest& page);

}  // namespace berth::ads
