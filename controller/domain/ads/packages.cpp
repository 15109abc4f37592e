#include "controller/domain/ads/packages.h"

#include <nlohmann/json.hpp>
#include <set>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/ads/market.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::ads {
namespace {

using nlohmann::json;

const std::string select_packages = R"(
    SELECT id, name, description, discount_percentage, min_surfaces, min_impressions, is_active,
           inserted_at, updated_at
    FROM ad_packages )";
const std::string select_purchases = R"(
    SELECT id, ad_package_id, app_id, surfaces, subtotal, discount_amount, rake_amount,
           total_charged, status, inserted_at, updated_at
    FROM ad_package_purchases )";

Package package_of(const db::Query& row) {
  return {.id = row.text("id"),
          .name = row.text("name"),
          .description = row.text_or_null("description"),
          .discount_percentage = row.integer("discount_percentage"),
          .min_surfaces = row.integer("min_surfaces"),
          .min_impressions = row.integer("min_impressions"),
          .is_active = row.flag("is_active"),
          .inserted_at = row.instant("inserted_at"),
          .updated_at = row.instant("updated_at")};
}

std::string stored(const std::vector<BoughtSurface>& surfaces) {
  json list = json::array();
  for (const BoughtSurface& one : surfaces)
    list.push_back({{"surface_type", one.surface_type},
                    {"impressions", one.impressions},
                    {"rate", one.rate},
                    {"discount", one.discount},
                    {"charged", one.charged},
                    {"campaign_id", one.campaign_id}});
  return list.dump();
}

std::vector<BoughtSurface> surfaces_of(const std::string& text) {
  std::vector<BoughtSurface> surfaces;
  for (const json& one : json::parse(text))
    surfaces.push_back({.surface_type = one.at("surface_type"),
                        .impressions = one.at("impressions"),
                        .rate = one.at("rate"),
                        .discount = one.at("discount"),
                        .charged = one.at("charged"),
                        .campaign_id = one.at("campaign_id")});
  return surfaces;
}

Purchase purchase_of(const db::Query& row) {
  return {.id = row.text("id"),
          .ad_package_id = row.text("ad_package_id"),
          .app_id = row.text("app_id"),
          .surfaces = surfaces_of(row.text("surfaces")),
          .subtotal = row.integer("subtotal"),
          .discount_amount = row.integer("discount_amount"),
          .rake_amount = row.integer("rake_amount"),
          .total_charged = row.integer("total_charged"),
          .status = db::enum_of<PurchaseStatus>(row, "status"),
          .inserted_at = row.instant("inserted_at"),
          .updated_at = row.instant("updated_at")};
}

void check(const Package& package, const PurchaseOrder& order) {
  if (!package.is_active) throw invalid_field("ad_package_id", "is no longer offered");
  std::set<SurfaceType> types;
  std::int64_t impressions = 0;
  for (const WantedSurface& surface : order.surfaces) {
    if (!types.insert(surface.surface_type).second)
      throw invalid_field("surfaces", "must name each surface type only once");
    impressions += surface.impressions;
  }
  if (std::int64_t(types.size()) < package.min_surfaces)
    throw invalid_field("surfaces",
                        "must have at least " + std::to_string(package.min_surfaces) + " entries");
  if (impressions < package.min_impressions)
    throw invalid_field(
        "surfaces",
        "must have at least " + std::to_string(package.min_impressions) + " impressions in total");
}

BoughtSurface priced(db::Tx& tx, const Package& package, const WantedSurface& wanted) {
  const std::int64_t rate = rate_of(tx, wanted.surface_type).effective_rate();
  // Keeps a hundred times the price within 64 bits.
  if (wanted.impressions < 1 || wanted.impressions > ledger::max_points / rate)
    throw invalid_field(
        "surfaces", "must have at least 1 impression each, and not cost more than 2^53-1 points");
  const std::int64_t subtotal = rate * wanted.impressions;
  const std::int64_t discount = subtotal * package.discount_percentage / 100;
  const std::int64_t charged = subtotal - discount;
  if (campaigns::budget_of(charged) < wanted.impressions)
    throw invalid_field("surfaces", "would pay less than one point for an impression");
  return {.surface_type = wanted.surface_type,
          .impressions = wanted.impressions,
          .rate = rate,
          .discount = discount,
          .charged = charged,
          .campaign_id = {}};
}

void add(Purchase& purchase, const BoughtSurface& surface) {
  if (surface.charged > ledger::max_points - purchase.total_charged)
    throw invalid_field("surfaces", "must not cost more than 2^53-1 points");
  purchase.subtotal += surface.charged + surface.discount;
  purchase.discount_amount += surface.discount;
  purchase.total_charged += surface.charged;
  purchase.rake_amount += surface.charged - campaigns::budget_of(surface.charged);
  purchase.surfaces.push_back(surface);
}

}  // namespace

Package create_package(db::Tx& tx, const Package& package) {
  const std::string id = new_uuid(tx.now());
  tx.execute(R"(
      INSERT INTO ad_packages (id, name, description, discount_percentage, min_surfaces,
                               min_impressions, is_active, inserted_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8))",
             id, package.name, package.description, package.discount_percentage,
             package.min_surfaces, package.min_impressions, package.is_active, tx.now());
  return get_package(tx, id);
}

Package update_package(db::Tx& tx, const Package& package) {
  tx.execute(R"(
      UPDATE ad_packages
      SET name = $2, description = $3, discount_percentage = $4, min_surfaces = $5,
          min_impressions = $6, is_active = $7, updated_at = $8
      WHERE id = $1)",
             package.id, package.name, package.description, package.discount_percentage,
             package.min_surfaces, package.min_impressions, package.is_active, tx.now());
  return get_package(tx, package.id);
}

Package get_package(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_packages + R"(WHERE id = $1)";
  auto rows = tx.query(sql, id);
  if (!rows.next()) throw Error(Code::package_not_found, "there is no such package");
  return package_of(rows);
}

Page<Package> list_packages(db::Tx& tx, Packages which, const PageRequest& page) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM ad_packages WHERE is_active = 1 OR $1 = 1 LIMIT $2) counted)",
                              .rows = select_packages + R"(
      WHERE (is_active = 1 OR $1 = 1) AND id > $2
      ORDER BY id
      LIMIT $3 OFFSET $4)",
                              .sorted_by = {{SortColumn::Type::text, "id"}},
                              .order = ListSql::Order::ascending};
  return read_page(tx, sql, page, package_of, which == Packages::all);
}

Purchase buy(db::Tx& tx, const std::string& app_id, const PurchaseOrder& order) {
  const Package package = get_package(tx, order.ad_package_id);
  check(package, order);
  Purchase purchase = {.id = new_uuid(tx.now()), .ad_package_id = package.id, .app_id = app_id};
  for (const WantedSurface& wanted : order.surfaces) add(purchase, priced(tx, package, wanted));
  tx.execute(R"(
      INSERT INTO ad_package_purchases (id, ad_package_id, app_id, surfaces, subtotal,
                                        discount_amount, rake_amount, total_charged, status,
                                        inserted_at, updated_at)
      VALUES ($1, $2, $3, '[]', $4, $5, $6, $7, 'completed', $8, $8))",
             purchase.id, package.id, app_id, purchase.subtotal, purchase.discount_amount,
             purchase.rake_amount, purchase.total_charged, tx.now());
  for (BoughtSurface& surface : purchase.surfaces)
    surface.campaign_id = campaigns::create(tx, app_id,
                                            {.name = order.name,
                                             .surface_type = surface.surface_type,
                                             .total_payment = surface.charged,
                                             .payout_rate = campaigns::budget_of(surface.charged) /
                                                            surface.impressions,
                                             .purchase_id = purchase.id})
                              .id;
  tx.execute(R"(
      UPDATE ad_package_purchases
      SET surfaces = $2
      WHERE id = $1)",
             purchase.id, stored(purchase.surfaces));
  return get_owned_purchase(tx, app_id, purchase.id);
}

Purchase get_owned_purchase(db::Tx& tx, const std::string& app_id, const std::string& id) {
  static const std::string sql = select_purchases + R"(WHERE id = $1)";
  auto rows = tx.query(sql, id);
  if (!rows.next()) throw Error(Code::purchase_not_found, "there is no such purchase");
  Purchase purchase = purchase_of(rows);
  if (purchase.app_id != app_id) throw apps::foreign(tx, "the purchase", purchase.app_id, app_id);
  return purchase;
}

Page<Purchase> list_purchases(db::Tx& tx, const std::string& app_id, const PageRequest& page) {
  static const ListSql sql = {
      .count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM ad_package_purchases WHERE app_id = $1 LIMIT $2) counted)",
      .rows = select_purchases + R"(
      WHERE app_id = $1 AND (inserted_at, id) < ($2, $3)
      ORDER BY inserted_at DESC, id DESC
      LIMIT $4 OFFSET $5)",
      .sorted_by = {{SortColumn::Type::integer, "inserted_at"}, {SortColumn::Type::text, "id"}}};
  return read_page(tx, sql, page, purchase_of, app_id);
}

}  // namespace berth::ads
