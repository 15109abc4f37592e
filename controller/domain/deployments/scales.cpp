#include "controller/domain/deployments/scales.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "controller/db/enum_column.h"
#include "controller/domain/deployments/deployment_rows.h"

namespace berth::deployments::scales {
namespace {

// What decides about `scale`; the other members are their defaults.
ContainerSpec sizes_of(const db::Query& row) {
  ContainerSpec container;
  if (!row.null("scale")) container.scale = nlohmann::json::parse(row.text("scale")).get<Scale>();
  if (const std::string processes = row.text("processes"); processes != "{}")
    container.processes = nlohmann::json::parse(processes).get<Processes>();
  return container;
}

}  // namespace

int within(const Scale& scale, int replicas) {
  return std::clamp(replicas, scale.min, std::max(scale.min, scale.max));
}

std::vector<Scaled> all(db::Tx& tx) {
  std::vector<Scaled> found;
  auto rows = tx.query(R"(
      SELECT s.deployment_id, d.app_id, s.process, s.replicas, d.status, d.scale, d.processes
      FROM deployment_scales s
      JOIN deployments d ON d.id = s.deployment_id
      WHERE d.status <> 'destroyed'
      ORDER BY s.deployment_id, s.process)");
  while (rows.next()) {
    const std::string process = rows.text("process");
    for (const ProcessSpec& each : processes_of(sizes_of(rows)))
      if (each.name == process && each.scale)
        found.push_back({.deployment_id = rows.text("deployment_id"),
                         .app_id = rows.text("app_id"),
                         .process = process,
                         .scale = *each.scale,
                         .replicas = within(*each.scale, int(rows.integer("replicas"))),
                         .status = db::enum_of<Status>(rows, "status")});
  }
  return found;
}

namespace {

// Returns whether the number was stored.
bool store(db::Tx& tx, const Change& change) {
  const int stored = tx.execute(R"(
      UPDATE deployment_scales
      SET replicas = $3, updated_at = $4
      WHERE deployment_id = $1 AND process = $2 AND replicas <> $3
        AND EXISTS (SELECT 1
                    FROM deployments
                    WHERE id = $1 AND status IN ('running', 'deploying')))",
                                change.deployment_id, change.process, change.replicas, tx.now());
  if (stored == 0) return false;
  tx.notify(db::Topic::deployment, change.deployment_id);
  return true;
}

}  // namespace

bool set(db::Tx& tx, const Change& change) {
  if (change.replicas != change.from && !store(tx, change)) return false;
  if (change.logged_from) {
    const nlohmann::json details = {{"kind", "scale"},
                                    {"process", change.process},
                                    {"from", *change.logged_from},
                                    {"to", change.replicas},
                                    {"in_flight", std::llround(change.in_flight)}};
    write_log(tx, change.deployment_id,
              {.action = LogAction::deploy,
               .status = LogStatus::info,
               .initiated_by = {},
               .details = details.dump()});
  }
  return true;
}

void container_changed(db::Tx& tx, const std::string& deployment_id,
                       const ContainerSpec& container) {
  // Only web can have `scale` (process_rules.cpp), so that there is one row at most.
  std::optional<Scale> scale;
  int present = 1;
  for (const ProcessSpec& each : processes_of(container))
    if (each.scale) {
      scale = each.scale;
      present = each.replicas;
    }
  if (!scale) {
    tx.execute_later(R"(DELETE FROM deployment_scales WHERE deployment_id = $1)", deployment_id);
    return;
  }
  tx.execute_later(R"(
      INSERT INTO deployment_scales (deployment_id, process, replicas, updated_at)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT (deployment_id, process) DO UPDATE
      SET replicas = CASE WHEN deployment_scales.replicas < $5 THEN $5 ELSE $6 END,
          updated_at = $4
      WHERE deployment_scales.replicas < $5 OR deployment_scales.replicas > $6)",
                   deployment_id, web_process, within(*scale, present), tx.now(), scale->min,
                   std::max(scale->min, scale->max));
}

}  // namespace berth::deployments::scales
