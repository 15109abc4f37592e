#include "controller/domain/deployments/new_owner.h"

#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/domain/deployments/custom_domains/name_history.h"
#include "controller/domain/deployments/rules.h"

namespace berth::deployments {
namespace {

void require_room(db::Tx& tx, const std::string& app_id, const std::string& owner_id) {
  struct Use {
    std::string tier_id, slug;
    std::int64_t most = 0, brings = 0;
  };
  std::vector<Use> uses;
  {
    auto rows = tx.query(
        R"(
        SELECT t.id, t.slug, t.max_deployments, count(*) AS brings
        FROM deployments d
        JOIN deploy_tiers t ON t.id = d.tier_id
        WHERE d.app_id = $1 AND d.status <> 'destroyed' AND t.max_deployments IS NOT NULL
        GROUP BY t.id, t.slug, t.max_deployments
        ORDER BY t.slug)",
        app_id);
    while (rows.next())
      uses.push_back({.tier_id = rows.text("id"),
                      .slug = rows.text("slug"),
                      .most = rows.integer("max_deployments"),
                      .brings = rows.integer("brings")});
  }
  for (const Use& use : uses)
    if (used_of_tier(tx, owner_id, use.tier_id) + use.brings > use.most)
      throw Error(Code::deployment_limit_reached,
                  "the new account may have at most " + std::to_string(use.most) +
                      " deployments of the tier " + use.slug + ", and has no room for the app's");
}

void remember_names(db::Tx& tx, const std::string& app_id, const std::string& owner_id,
                    const std::string& data_key) {
  using name_history::Kind;
  std::vector<std::pair<Kind, std::string>> names;
  {
    auto rows = tx.query(
        R"(SELECT name FROM deployments WHERE app_id = $1 AND status <> 'destroyed')", app_id);
    while (rows.next()) names.emplace_back(Kind::subdomain, rows.text("name"));
  }
  {
    auto rows = tx.query(
        R"(
        SELECT c.domain
        FROM deployments d
        JOIN custom_domains c ON c.deployment_id = d.id
        WHERE d.app_id = $1 AND d.status <> 'destroyed' AND c.released_at IS NULL)",
        app_id);
    while (rows.next()) names.emplace_back(Kind::domain, rows.text("domain"));
  }
  for (const auto& [kind, name] : names) name_history::remember(tx, kind, name, owner_id, data_key);
}

}  // namespace

void give_to(db::Tx& tx, const std::string& app_id, const std::string& owner_id,
             const std::string& data_key) {
  tx.require_serializable();
  require_room(tx, app_id, owner_id);
  remember_names(tx, app_id, owner_id, data_key);
  tx.execute(
      R"(
      UPDATE custom_domains
      SET owner_id = $2
      WHERE released_at IS NULL
        AND deployment_id IN (SELECT id
                              FROM deployments
                              WHERE app_id = $1 AND status <> 'destroyed'))",
      app_id, owner_id);
  tx.execute(
      R"(
      UPDATE deployment_runs
      SET owner_id = $2
      WHERE finished_at IS NULL
        AND deployment_id IN (SELECT id
                              FROM deployments
                              WHERE app_id = $1 AND status <> 'destroyed'))",
      app_id, owner_id);
  tx.execute(
      R"(
      UPDATE builds
      SET owner_id = $2
      WHERE app_id = $1
        AND (status IN ('queued', 'building')
             OR (status = 'succeeded' AND image_removed_at IS NULL)))",
      app_id, owner_id);
  tx.execute(R"(UPDATE deployments SET owner_id = $2 WHERE app_id = $1 AND status <> 'destroyed')",
             app_id, owner_id);
}

}  // namespace berth::deployments
