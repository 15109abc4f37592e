// What the reconcilers read and record.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/text.h"
#include "controller/db/enum_column.h"
#include "controller/domain/deployments/app_variable_rows.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/revisions.h"

namespace berth::deployments {
namespace {

bool leaving_holds_name(db::Tx& tx, const Deployment& deployment) {
  return tx.number(
             R"(
      SELECT count(*)
      FROM deployments
      WHERE name = $1 AND status = 'destroyed' AND removed_at IS NULL AND id <> $2)",
             deployment.name, deployment.id) > 0;
}

std::optional<std::string> kept_message(const std::optional<std::string>& message) {
  return message ? std::optional(without_nuls(cut(*message, max_message_length))) : std::nullopt;
}

// Adds to the details who began a rollout and, at its end, how long it took.
void add_rollout(nlohmann::json& details, const BegunRollout& rollout, bool ends, Instant now) {
  details["kind"] = rollout.kind;
  details["image"] = rollout.image;
  if (ends)
    details["duration_seconds"] = std::chrono::duration<double>(now - rollout.started_at).count();
}

std::optional<BegunRollout> begun_rollout(db::Tx& tx, const Deployment& row) {
  const auto revision = revision_of(tx, row.id, row.generation);
  if (!revision) return begun_by_app_variables(tx, row);
  if (revision->succeeded) return std::nullopt;
  return BegunRollout{.kind = std::string(to_string(revision->kind)),
                      .initiated_by = revision->initiated_by,
                      .image = revision->container.image,
                      .started_at = revision->started_at};
}

// Whether the newest rollout has failed, or hasn't begun, so that what ran before it goes on.
bool is_failed_rollout(const std::optional<Reason>& reason) {
  return reason == Reason::rollout_failed || reason == Reason::release_failed;
}

// Writes the log entry for a change of status, if it has one. What happens to a container after it
// has run isn't part of a rollout, so berth itself is its initiator.
void log_move(db::Tx& tx, const Deployment& row, const Observation& seen) {
  nlohmann::json details = {{"generation", row.generation}};
  // If the new container fails, what was observed is the old one, which keeps serving.
  const bool serves_on = is_failed_rollout(seen.reason);
  if (seen.image_digest)
    details[serves_on ? "serving_image_digest" : "image_digest"] = *seen.image_digest;
  if (row.resized) details["resized"] = to_string(*row.resized);
  if (seen.reason) details["reason"] = to_string(*seen.reason);
  if (seen.cause) details["cause"] = to_string(*seen.cause);
  if (const auto message = kept_message(seen.message)) details["message"] = *message;
  const auto write = [&](LogStatus status) {
    const auto rollout = begun_rollout(tx, row);
    if (rollout) add_rollout(details, *rollout, status != LogStatus::started, tx.now());
    write_log(tx, row.id,
              {.action = LogAction::deploy,
               .status = status,
               .initiated_by = rollout ? rollout->initiated_by : std::nullopt,
               .details = details.dump()});
  };
  const bool failed = seen.status == Status::errored || serves_on;
  const bool failed_before = row.status == Status::errored || is_failed_rollout(row.reason);
  if (failed) {
    if (!failed_before || row.reason != seen.reason || row.cause != seen.cause)
      write(LogStatus::failed);
  } else if (seen.status == Status::running && (row.status != Status::running || failed_before)) {
    write(LogStatus::succeeded);
    revision_succeeded(tx, row.id, seen.image_digest);
  } else if (seen.status == Status::deploying && row.status == Status::pending) {
    write(LogStatus::started);
  }
}

}  // namespace

namespace {

std::map<std::string, int> scaled_processes(const Deployment& row) {
  if (!row.scaled_to) return {};
  return {{web_process, *row.scaled_to}};
}

}  // namespace

std::optional<DesiredState> desired_state(db::Tx& tx, const std::string& id,
                                          const std::string& data_key) {
  const auto deployment = find(tx, id);
  if (!deployment || deployment->status == Status::destroyed) return std::nullopt;
  return DesiredState{.deployment = *deployment,
                      .secrets = with_inherited(own_secrets(tx, id, data_key),
                                                secrets_of_app(tx, deployment->app_id, data_key)),
                      .confinement = tiers::find(tx, deployment->tier_id)->confinement,
                      .host_is_held = leaving_holds_name(tx, *deployment),
                      .scaled = scaled_processes(*deployment)};
}

AppSize size_of_app(db::Tx& tx, const std::string& app_id) {
  auto rows = tx.query(R"(
      SELECT count(*) AS deployments,
             coalesce(sum(most_containers), 0) AS containers,
             coalesce(sum(most_memory_mb), 0) AS memory_mb,
             coalesce(sum(most_cpu_millicores), 0) AS cpu_millicores,
             coalesce(max(memory_limit_mb), 0) AS largest_memory_mb,
             coalesce(max(cpu_limit_millicores), 0) AS largest_cpu_millicores
      FROM deployments
      WHERE app_id = $1 AND status <> 'destroyed')",
                       app_id);
  rows.next();
  return {.deployments = int(rows.integer("deployments")),
          .containers = int(rows.integer("containers")),
          .memory_mb = rows.integer("memory_mb"),
          .cpu_millicores = rows.integer("cpu_millicores"),
          .largest_memory_mb = int(rows.integer("largest_memory_mb")),
          .largest_cpu_millicores = int(rows.integer("largest_cpu_millicores"))};
}

bool app_is_changing(db::Tx& tx, const std::string& app_id) {
  return tx.number(R"(
      SELECT 1
      FROM deployments
      WHERE app_id = $1 AND status <> 'destroyed'
        AND (status IN ('pending', 'deploying', 'errored') OR reason = 'rollout_failed')
      LIMIT 1)",
                   app_id) != 0;
}

std::vector<std::string> all_with_objects(db::Tx& tx) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(SELECT id FROM deployments WHERE removed_at IS NULL ORDER BY id)");
  while (rows.next()) ids.push_back(rows.text("id"));
  return ids;
}

std::optional<std::string> holder_of_name(db::Tx& tx, const std::string& name) {
  auto rows =
      tx.query(R"(SELECT id FROM deployments WHERE name = $1 AND status <> 'destroyed')", name);
  return rows.next() ? std::optional(rows.text("id")) : std::nullopt;
}

bool app_has_objects(db::Tx& tx, const std::string& app_id) {
  return tx.number(R"(SELECT 1 FROM deployments WHERE app_id = $1 AND removed_at IS NULL LIMIT 1)",
                   app_id) != 0;
}

std::map<Status, int> count_by_status(db::Tx& tx) {
  std::map<Status, int> counts;
  auto rows = tx.query(R"(
      SELECT status, count(*) AS deployments
      FROM deployments
      WHERE status <> 'destroyed'
      GROUP BY status)");
  while (rows.next())
    counts[db::enum_of<Status>(rows, "status")] = int(rows.integer("deployments"));
  return counts;
}

std::vector<Deployment> newest_failed(db::Tx& tx) {
  static const std::string sql = select_deployments + R"(
      WHERE d.status = 'errored'
      ORDER BY d.updated_at DESC, d.id DESC
      LIMIT $1)";
  std::vector<Deployment> failed;
  auto rows = tx.query(sql, max_newest_failed);
  while (rows.next()) failed.push_back(deployment_of(rows));
  return failed;
}

bool differs(const Deployment& row, const Observation& seen) {
  const Observation known = {.status = row.status,
                             .phase = row.phase,
                             .reason = row.reason,
                             .cause = row.cause,
                             .message = row.message,
                             .container_id = row.container_id,
                             .image_digest = row.image_digest,
                             .host_server = row.host_server,
                             .health_status = row.health_status};
  Observation kept = seen;
  kept.message = kept_message(seen.message);
  return known != kept;
}

bool record(db::Tx& tx, const std::string& id, std::int64_t generation, const Observation& seen) {
  const auto row = find(tx, id);
  if (!row || row->generation != generation || row->status == Status::destroyed) return false;
  log_move(tx, *row, seen);
  tx.execute(R"(
      UPDATE deployments
      SET status = $3, phase = $4, reason = $5, cause = $6, message = $7,
          container_id = $8, image_digest = $9, host_server = $10, health_status = $11,
          last_health_check = CASE WHEN CAST($11 AS TEXT) IS NULL THEN last_health_check ELSE $12 END,
          deployed_at = CASE WHEN $3 = 'running' AND (status <> 'running' OR deployed_at IS NULL)
                             THEN $12 ELSE deployed_at END,
          updated_at = $12
      WHERE id = $1 AND generation = $2 AND status <> 'destroyed')",
             id, generation, to_string(seen.status), seen.phase, to_string(seen.reason),
             to_string(seen.cause), kept_message(seen.message), seen.container_id,
             seen.image_digest, seen.host_server, to_string(seen.health_status), tx.now());
  tx.notify(db::Topic::deployment_seen, id);
  return true;
}

bool record_resize(db::Tx& tx, const std::string& id, std::int64_t generation, Resize how,
                   const std::vector<std::string>& replaced) {
  const auto row = find(tx, id);
  if (!row || row->generation != generation || row->status == Status::stopped ||
      row->status == Status::destroyed || row->resized == how || row->resized == Resize::rollout)
    return false;
  const auto rollouts = next_rollouts(*row, replaced);
  const int stored =
      tx.execute(R"(
      UPDATE deployments
      SET resized = $3, process_rollouts = $4, updated_at = $5
      WHERE id = $1 AND generation = $2 AND status NOT IN ('stopped', 'destroyed'))",
                 id, generation, to_string(how), nlohmann::json(rollouts).dump(), tx.now());
  if (stored == 0) return false;
  tx.notify(db::Topic::deployment_seen, id);
  return true;
}

void mark_removed(db::Tx& tx, const std::string& id) {
  tx.execute(R"(
      UPDATE deployments
      SET removed_at = $2
      WHERE id = $1 AND status = 'destroyed' AND removed_at IS NULL)",
             id, tx.now());
}

}  // namespace berth::deployments
