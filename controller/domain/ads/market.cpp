#include "controller/domain/ads/market.h"

#include <algorithm>
#include <stdexcept>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/ads/serving.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::ads {
namespace {

const std::string select_placements = R"(
    SELECT id, name, surface_type, app_id, description, is_active, inserted_at, updated_at
    FROM ad_placements )";
const std::string select_pricing = R"(
    SELECT p.id, p.ad_placement_id, p.base_rate, p.min_rate, p.max_rate, p.effective_from,
           p.effective_until, p.inserted_at, p.updated_at, r.demand
    FROM ad_pricing p
    JOIN ad_placements a ON a.id = p.ad_placement_id
    JOIN ad_rates r ON r.surface_type = a.surface_type )";
const std::string valid_now = R"((p.effective_from <= $1
           AND (p.effective_until IS NULL OR p.effective_until > $1)))";

Placement placement_of(const db::Query& row) {
  return {.id = row.text("id"),
          .name = row.text("name"),
          .surface_type = db::enum_of<SurfaceType>(row, "surface_type"),
          .app_id = row.text_or_null("app_id"),
          .description = row.text("description"),
          .is_active = row.flag("is_active"),
          .inserted_at = row.instant("inserted_at"),
          .updated_at = row.instant("updated_at")};
}

Pricing pricing_of(const db::Query& row) {
  return {.id = row.text("id"),
          .ad_placement_id = row.text("ad_placement_id"),
          .base_rate = row.integer("base_rate"),
          .min_rate = row.integer("min_rate"),
          .max_rate = row.integer("max_rate"),
          .effective_from = row.instant("effective_from"),
          .effective_until = row.instant_or_null("effective_until"),
          .inserted_at = row.instant("inserted_at"),
          .updated_at = row.instant("updated_at"),
          .demand = row.integer("demand")};
}

// Computes the figures that ad_rates stores from the events of the window.
std::vector<Rate> measured(db::Tx& tx) {
  std::vector<Rate> all = rates(tx);
  std::vector<std::int64_t> counts;
  std::int64_t total = 0;
  for (const Rate& rate : all) {
    counts.push_back(tx.number(R"(
        SELECT coalesce(sum(impressions), 0)
        FROM ad_demand_days
        WHERE surface_type = $1 AND day > $2)",
                               to_string(rate.surface_type),
                               utc_day(tx.now()) - demand_window_days));
    total += counts.back();
  }
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].demand = std::min(max_demand, 100 + 100 * counts[i] / demand_unit);
    all[i].popularity = total == 0 ? 100 : 100 + 100 * counts[i] / total;
  }
  return all;
}

void check(db::Tx& tx, const Pricing& pricing) {
  if (!find_placement(tx, pricing.ad_placement_id))
    throw invalid_field("ad_placement_id", "must be the id of a placement");
  if (pricing.min_rate > pricing.base_rate || pricing.base_rate > pricing.max_rate)
    throw invalid_field("base_rate", "must be from min_rate to max_rate");
  if (pricing.effective_until && *pricing.effective_until <= pricing.effective_from)
    throw invalid_field("effective_until", "must be after effective_from");
  const bool meets = tx.number(R"(
      SELECT count(*)
      FROM ad_pricing
      WHERE ad_placement_id = $1
        AND id <> $2
        AND (effective_until IS NULL OR effective_until > $3)
        AND (effective_from < $4 OR $4 IS NULL))",
                               pricing.ad_placement_id, pricing.id, pricing.effective_from,
                               pricing.effective_until) > 0;
  if (meets)
    throw invalid_field("effective_from",
                        "must not overlap with another pricing of this placement");
}

}  // namespace

Placement create_placement(db::Tx& tx, const Placement& placement) {
  if (placement.app_id && tx.number(R"(
      SELECT count(*)
      FROM apps
      WHERE id = $1 AND deleted_at IS NULL)",
                                    *placement.app_id) == 0)
    throw invalid_field("app_id", "must be the id of an app");
  const std::string id = new_uuid(tx.now());
  tx.execute(R"(
      INSERT INTO ad_placements (id, name, surface_type, app_id, description, is_active,
                                 inserted_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $7))",
             id, placement.name, to_string(placement.surface_type), placement.app_id,
             placement.description, placement.is_active, tx.now());
  return get_placement(tx, id);
}

Placement update_placement(db::Tx& tx, const Placement& placement) {
  tx.execute(R"(
      UPDATE ad_placements
      SET name = $2, description = $3, is_active = $4, updated_at = $5
      WHERE id = $1)",
             placement.id, placement.name, placement.description, placement.is_active, tx.now());
  auto rows = tx.query(R"(
      SELECT DISTINCT campaign_id
      FROM campaign_placements
      WHERE ad_placement_id = $1 AND removed_at IS NULL)",
                       placement.id);
  while (rows.next()) tx.notify(db::Topic::campaign, rows.text("campaign_id"));
  return get_placement(tx, placement.id);
}

std::optional<Placement> find_placement(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_placements + R"(WHERE id = $1)";
  auto rows = tx.query(sql, id);
  return rows.next() ? std::optional(placement_of(rows)) : std::nullopt;
}

Placement get_placement(db::Tx& tx, const std::string& id) {
  auto placement = find_placement(tx, id);
  if (!placement) throw Error(Code::placement_not_found, "there is no such placement");
  return *std::move(placement);
}

Page<Placement> list_placements(db::Tx& tx, Which which, const PageRequest& page) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM ad_placements WHERE is_active = 1 OR $1 = 1 LIMIT $2) counted)",
                              .rows = select_placements + R"(
      WHERE (is_active = 1 OR $1 = 1) AND id > $2
      ORDER BY id
      LIMIT $3 OFFSET $4)",
                              .sorted_by = {{SortColumn::Type::text, "id"}},
                              .order = ListSql::Order::ascending};
  return read_page(tx, sql, page, placement_of, which == Which::all);
}

std::int64_t Rate::effective_rate() const {
  return std::clamp(base_rate * demand * popularity / 10'000, floor_price, ceiling_price());
}

std::vector<Rate> rates(db::Tx& tx) {
  std::vector<Rate> all;
  auto rows = tx.query(R"(
      SELECT surface_type, base_rate, demand, popularity, floor_price
      FROM ad_rates
      ORDER BY surface_type)");
  while (rows.next())
    all.push_back({.surface_type = db::enum_of<SurfaceType>(rows, "surface_type"),
                   .base_rate = rows.integer("base_rate"),
                   .demand = rows.integer("demand"),
                   .popularity = rows.integer("popularity"),
                   .floor_price = rows.integer("floor_price")});
  return all;
}

Rate rate_of(db::Tx& tx, SurfaceType surface_type) {
  for (const Rate& rate : rates(tx))
    if (rate.surface_type == surface_type) return rate;
  throw std::logic_error("a surface type has no rate");
}

bool is_demand_old(db::Tx& tx) {
  const auto before = rates(tx);
  const auto now = measured(tx);
  return !std::ranges::equal(before, now, [](const Rate& a, const Rate& b) {
    return a.demand == b.demand && a.popularity == b.popularity;
  });
}

void recompute_demand(db::Tx& tx) {
  for (const Rate& rate : measured(tx))
    tx.execute(R"(
        UPDATE ad_rates
        SET demand = $2, popularity = $3
        WHERE surface_type = $1)",
               to_string(rate.surface_type), rate.demand, rate.popularity);
}

std::int64_t Pricing::effective_rate() const {
  return std::clamp(base_rate * demand / 100, min_rate, max_rate);
}

Pricing create_pricing(db::Tx& tx, const Pricing& pricing) {
  tx.require_serializable();
  check(tx, pricing);
  const std::string id = new_uuid(tx.now());
  tx.execute(R"(
      INSERT INTO ad_pricing (id, ad_placement_id, base_rate, min_rate, max_rate, effective_from,
                              effective_until, inserted_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8))",
             id, pricing.ad_placement_id, pricing.base_rate, pricing.min_rate, pricing.max_rate,
             pricing.effective_from, pricing.effective_until, tx.now());
  return get_pricing(tx, id);
}

Pricing update_pricing(db::Tx& tx, const Pricing& pricing) {
  tx.require_serializable();
  check(tx, pricing);
  tx.execute(R"(
      UPDATE ad_pricing
      SET base_rate = $2, min_rate = $3, max_rate = $4, effective_from = $5, effective_until = $6,
          updated_at = $7
      WHERE id = $1)",
             pricing.id, pricing.base_rate, pricing.min_rate, pricing.max_rate,
             pricing.effective_from, pricing.effective_until, tx.now());
  return get_pricing(tx, pricing.id);
}

Pricing get_pricing(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_pricing + R"(WHERE p.id = $1)";
  auto rows = tx.query(sql, id);
  if (!rows.next()) throw Error(Code::pricing_not_found, "there is no such pricing");
  return pricing_of(rows);
}

Pricing current_pricing(db::Tx& tx, const std::string& ad_placement_id) {
  static const std::string sql = select_pricing + R"(WHERE )" + valid_now + R"(
        AND p.ad_placement_id = $2
      ORDER BY p.effective_from DESC
      LIMIT 1)";
  auto rows = tx.query(sql, tx.now(), ad_placement_id);
  if (!rows.next())
    throw Error(Code::pricing_not_found,
                "the placement currently has no pricing, or there is no such placement");
  return pricing_of(rows);
}

Page<Pricing> list_pricing(db::Tx& tx, Which which, const PageRequest& page) {
  static const std::string shown = R"(WHERE ($2 = 1 OR )" + valid_now + R"())";
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM ad_pricing p )" +
                                       shown + R"( LIMIT $3) counted)",
                              .rows = select_pricing + shown + R"(
        AND (p.ad_placement_id, p.effective_from, p.id) > ($3, $4, $5)
      ORDER BY p.ad_placement_id, p.effective_from, p.id
      LIMIT $6 OFFSET $7)",
                              .sorted_by = {{SortColumn::Type::text, "ad_placement_id"},
                                            {SortColumn::Type::integer, "effective_from"},
                                            {SortColumn::Type::text, "id"}},
                              .order = ListSql::Order::ascending};
  return read_page(tx, sql, page, pricing_of, tx.now(), which == Which::all);
}

}  // namespace berth::ads
