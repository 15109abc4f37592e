#include "controller/domain/deployments/metering/prices.h"

#include <vector>

#include "controller/domain/ledger/ledger.h"

namespace berth::metering {
namespace {

// A price that was replaced so long ago is needed by no interval that is still recorded.
constexpr std::int64_t replaced_kept_for = 60;  // days

void set_price(db::Tx& tx, const std::string& tier_id, std::int64_t day,
               const std::optional<std::int64_t>& points_per_hour) {
  tx.execute(R"(
      INSERT INTO tier_prices (tier_id, from_day, points_per_hour)
      VALUES ($1, $2, $3)
      ON CONFLICT (tier_id, from_day) DO UPDATE SET points_per_hour = excluded.points_per_hour)",
             tier_id, day, points_per_hour);
}

void remove_replaced(db::Tx& tx, const std::string& tier_id, std::int64_t today) {
  tx.execute(R"(
      DELETE FROM tier_prices
      WHERE tier_id = $1
        AND from_day < (SELECT max(p.from_day)
                        FROM tier_prices p
                        WHERE p.tier_id = $1 AND p.from_day <= $2))",
             tier_id, today - replaced_kept_for);
}

// What runs on the tier is recorded from now on, and its owners are warned, before the price
// applies.
void look_at_all(db::Tx& tx, const std::string& tier_id) {
  tx.execute(R"(
      INSERT INTO meter_apps (app_id)
      SELECT app_id
      FROM deployments
      WHERE tier_id = $1 AND status <> 'destroyed'
      ON CONFLICT (app_id) DO NOTHING)",
             tier_id);
  tx.execute(R"(
      UPDATE meter_apps
      SET due_at = $2
      WHERE app_id IN (SELECT app_id
                       FROM deployments
                       WHERE tier_id = $1 AND status <> 'destroyed'))",
             tier_id, tx.now());
  std::vector<std::string> ids;
  auto rows = tx.query(R"(SELECT id FROM deployments WHERE tier_id = $1 AND status <> 'destroyed')",
                       tier_id);
  while (rows.next()) ids.push_back(rows.text("id"));
  for (const std::string& id : ids) tx.notify(db::Topic::deployment, id);
}

}  // namespace

Prices::Prices(db::Tx& tx) {
  auto rows = tx.query(R"(SELECT tier_id, from_day, points_per_hour FROM tier_prices)");
  while (rows.next())
    tiers_[rows.text("tier_id")][rows.integer("from_day")] =
        rows.integer_or_null("points_per_hour");
}

std::optional<std::int64_t> Prices::on(const std::string& tier_id, std::int64_t day) const {
  const auto tier = tiers_.find(tier_id);
  if (tier == tiers_.end()) return std::nullopt;
  const auto after = tier->second.upper_bound(day);
  return after == tier->second.begin() ? std::nullopt : std::prev(after)->second;
}

bool Prices::is_metered(const std::string& tier_id, std::int64_t day) const {
  return on(tier_id, day) || on(tier_id, day + 1);
}

std::optional<std::int64_t> Prices::metered_since(const std::string& tier_id,
                                                  std::int64_t day) const {
  if (!is_metered(tier_id, day)) return std::nullopt;
  if (!on(tier_id, day)) return day + 1;
  const auto& prices = tiers_.find(tier_id)->second;
  std::int64_t since = day;
  for (auto price = prices.upper_bound(day); price != prices.begin();) {
    --price;
    if (!price->second) break;
    since = price->first;
  }
  return since;
}

void price_created(db::Tx& tx, const std::string& tier_id,
                   std::optional<std::int64_t> points_per_hour) {
  if (points_per_hour) set_price(tx, tier_id, utc_day(tx.now()), points_per_hour);
}

void price_changed(db::Tx& tx, const std::string& tier_id,
                   std::optional<std::int64_t> points_per_hour) {
  const std::int64_t today = utc_day(tx.now());
  if (Prices(tx).on(tier_id, today + 1) == points_per_hour) return;
  set_price(tx, tier_id, today + 1, points_per_hour);
  remove_replaced(tx, tier_id, today);
  look_at_all(tx, tier_id);
}

PriceEffect effect_of(db::Tx& tx, const std::string& tier_id,
                      std::optional<std::int64_t> points_per_hour) {
  const std::int64_t today = utc_day(tx.now());
  const Prices prices(tx);
  PriceEffect effect = {.from = start_of_day(today + 1),
                        .today = prices.on(tier_id, today),
                        .next = prices.on(tier_id, today + 1)};
  const std::int64_t price = points_per_hour.value_or(0);
  std::int64_t containers = 0;
  std::map<std::string, std::int64_t> containers_of;  // by app
  {
    auto rows = tx.query(R"(
        SELECT app_id, most_containers
        FROM deployments
        WHERE tier_id = $1
          AND status <> 'destroyed'
          AND status <> 'stopped'
          AND suspended_at IS NULL)",
                         tier_id);
    while (rows.next()) {
      containers_of[rows.text("app_id")] += rows.integer("most_containers");
      containers += rows.integer("most_containers");
      ++effect.deployments;
    }
  }
  for (const auto& [app_id, count] : containers_of) {
    ++effect.apps;
    if (price > 0 && ledger::balance(tx, ledger::app_account(app_id)) / 24 < count * price)
      ++effect.apps_short_of_points;
  }
  effect.points_per_hour_before = containers * effect.today.value_or(0);
  effect.points_per_hour_after = containers * price;
  return effect;
}

}  // namespace berth::metering
