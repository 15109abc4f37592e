#include "controller/domain/deployments/tiers.h"

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/metering/prices.h"

namespace berth::tiers {
namespace {

const std::string select_tiers = R"(
    SELECT id, name, slug, description, payment_method, monthly_cost_points, monthly_cost_sats,
           memory_limit_mb, cpu_limit_millicores, max_deployments, custom_domain_allowed,
           auto_approve, monthly_stipend_points, ad_reach_multiplier, runtime_class,
           user_namespaces, smtp, bandwidth_mbit, build_points_per_minute, points_per_hour,
           max_replicas, exec_allowed
    FROM deploy_tiers
)";

Tier tier_of(const db::Query& row) {
  Tier tier = {.id = row.text("id"),
               .name = row.text("name"),
               .slug = row.text("slug"),
               .description = row.text("description"),
               .payment_method = db::enum_of<PaymentMethod>(row, "payment_method"),
               .monthly_cost_points = row.integer_or_null("monthly_cost_points"),
               .monthly_cost_sats = row.integer_or_null("monthly_cost_sats"),
               .memory_limit_mb = int(row.integer("memory_limit_mb")),
               .cpu_limit_millicores = int(row.integer("cpu_limit_millicores")),
               .max_deployments = {},
               .custom_domain_allowed = row.flag("custom_domain_allowed"),
               .auto_approve = row.flag("auto_approve"),
               .monthly_stipend_points = row.integer("monthly_stipend_points"),
               .ad_reach_multiplier = row.text("ad_reach_multiplier"),
               .confinement = {.runtime_class = row.text_or_null("runtime_class"),
                               .user_namespaces = {},
                               .smtp = row.flag("smtp"),
                               .bandwidth = {}},
               .build_points_per_minute = row.integer("build_points_per_minute"),
               .points_per_hour = row.integer_or_null("points_per_hour"),
               .max_replicas = int(row.integer("max_replicas")),
               .exec_allowed = row.flag("exec_allowed")};
  if (!row.null("user_namespaces")) tier.confinement.user_namespaces = row.flag("user_namespaces");
  if (!row.null("bandwidth_mbit")) tier.confinement.bandwidth = int(row.integer("bandwidth_mbit"));
  if (!row.null("max_deployments")) tier.max_deployments = int(row.integer("max_deployments"));
  return tier;
}

std::optional<Tier> first(db::Query rows) {
  return rows.next() ? std::optional(tier_of(rows)) : std::nullopt;
}

void insert(db::Tx& tx, const std::string& id, const Tier& tier) {
  tx.execute(R"(
      INSERT INTO deploy_tiers
        (id, name, slug, description, payment_method, monthly_cost_points, monthly_cost_sats,
         memory_limit_mb, cpu_limit_millicores, max_deployments, custom_domain_allowed,
         auto_approve, monthly_stipend_points, ad_reach_multiplier, runtime_class,
         user_namespaces, smtp, bandwidth_mbit, build_points_per_minute, points_per_hour,
         max_replicas, exec_allowed, position)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
              $20, $21, $22,
              (SELECT coalesce(max(position), 0) + 1 FROM deploy_tiers)))",
             id, tier.name, tier.slug, tier.description, to_string(tier.payment_method),
             tier.monthly_cost_points, tier.monthly_cost_sats, tier.memory_limit_mb,
             tier.cpu_limit_millicores, tier.max_deployments, tier.custom_domain_allowed,
             tier.auto_approve, tier.monthly_stipend_points, tier.ad_reach_multiplier,
             tier.confinement.runtime_class, tier.confinement.user_namespaces,
             tier.confinement.smtp, tier.confinement.bandwidth, tier.build_points_per_minute,
             tier.points_per_hour, tier.max_replicas, tier.exec_allowed);
  metering::price_created(tx, id, tier.points_per_hour);
}

// The cluster's objects of all of the tier's deployments are made again.
void confinement_changed(db::Tx& tx, const std::string& tier_id) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(SELECT id FROM deployments WHERE tier_id = $1 AND status <> 'destroyed')",
                       tier_id);
  while (rows.next()) ids.push_back(rows.text("id"));
  for (const std::string& id : ids) tx.notify(db::Topic::deployment, id);
}

// Each payment method needs its own price, and must not have the other's.
void check_price(const Tier& tier) {
  const bool bitcoin = tier.payment_method == PaymentMethod::bitcoin;
  const auto price = [](bool wanted, bool given, const char* field) {
    if (wanted != given)
      throw invalid_field(field, wanted ? "is required for this payment method"
                                        : "must not be set for this payment method");
  };
  price(!bitcoin, tier.monthly_cost_points.has_value(), "monthly_cost_points");
  price(bitcoin, tier.monthly_cost_sats.has_value(), "monthly_cost_sats");
  if (!tier.points_per_hour) return;
  if (bitcoin) throw invalid_field("points_per_hour", "must not be set for this payment method");
  if (*tier.points_per_hour < 1 || *tier.points_per_hour > metering::max_points_per_hour)
    throw invalid_field("points_per_hour",
                        "must be from 1 to 1000000; leave it out, or null, for no price");
}

}  // namespace

std::vector<Tier> list(db::Tx& tx) {
  static const std::string sql = select_tiers + R"(ORDER BY position)";
  std::vector<Tier> result;
  auto rows = tx.query(sql);
  while (rows.next()) result.push_back(tier_of(rows));
  return result;
}

std::optional<Tier> find_by_slug(db::Tx& tx, const std::string& slug) {
  static const std::string sql = select_tiers + R"(WHERE slug = $1)";
  return first(tx.query(sql, slug));
}

std::optional<Tier> find(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_tiers + R"(WHERE id = $1)";
  return first(tx.query(sql, id));
}

Tier create(db::Tx& tx, const Tier& tier) {
  check_price(tier);
  if (find_by_slug(tx, tier.slug)) throw invalid_field("slug", "is already used by another tier");
  const std::string id = new_uuid(tx.now());
  insert(tx, id, tier);
  return *find(tx, id);
}

Tier update(db::Tx& tx, const Tier& tier) {
  check_price(tier);
  const auto before = find(tx, tier.id);
  tx.execute(R"(
      UPDATE deploy_tiers
      SET name = $2, description = $3, monthly_cost_points = $4, monthly_cost_sats = $5,
          memory_limit_mb = $6, cpu_limit_millicores = $7, max_deployments = $8,
          custom_domain_allowed = $9, auto_approve = $10, monthly_stipend_points = $11,
          ad_reach_multiplier = $12, runtime_class = $13, user_namespaces = $14, smtp = $15,
          bandwidth_mbit = $16, build_points_per_minute = $17, points_per_hour = $18,
          max_replicas = $19, exec_allowed = $20
      WHERE id = $1)",
             tier.id, tier.name, tier.description, tier.monthly_cost_points, tier.monthly_cost_sats,
             tier.memory_limit_mb, tier.cpu_limit_millicores, tier.max_deployments,
             tier.custom_domain_allowed, tier.auto_approve, tier.monthly_stipend_points,
             tier.ad_reach_multiplier, tier.confinement.runtime_class,
             tier.confinement.user_namespaces, tier.confinement.smtp, tier.confinement.bandwidth,
             tier.build_points_per_minute, tier.points_per_hour, tier.max_replicas,
             tier.exec_allowed);
  metering::price_changed(tx, tier.id, tier.points_per_hour);
  if (before && before->confinement != tier.confinement) confinement_changed(tx, tier.id);
  billing::tier_changed(tx, tier.id);
  campaigns::tiers_changed(tx);
  return *find(tx, tier.id);
}

void seed(db::Tx& tx, const std::vector<Tier>& tiers) {
  if (tx.number(R"(SELECT count(*) FROM deploy_tiers)") > 0) return;
  for (const Tier& tier : tiers) insert(tx, new_uuid(tx.now()), tier);
}

}  // namespace berth::tiers
