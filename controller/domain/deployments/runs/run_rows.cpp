#include "controller/domain/deployments/runs/run_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/text.h"
#include "controller/db/enum_column.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/deployments/rules.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::runs {
namespace {

using deployments::Deployment;
using deployments::Revision;

const std::string select_runs = R"(
    SELECT r.id, r.deployment_id, r.app_id, r.kind, r.name, r.minute, r.generation, r.process,
           r.command, r.image, r.image_digest, r.timeout_seconds, r.status, r.exit_code, r.reason,
           r.message, r.created_by, r.inserted_at, r.made_at, r.started_at, r.finished_at
    FROM deployment_runs r
)";

Run run_of(const db::Query& row) {
  Run run = {.id = row.text("id"),
             .deployment_id = row.text("deployment_id"),
             .app_id = row.text("app_id"),
             .kind = db::enum_of<Kind>(row, "kind"),
             .name = row.text("name"),
             .minute = row.instant_or_null("minute"),
             .generation = row.integer("generation"),
             .process = row.text("process"),
             .command = nlohmann::json::parse(row.text("command")).get<Texts>(),
             .image = row.text("image"),
             .image_digest = row.text_or_null("image_digest"),
             .timeout = std::chrono::seconds(row.integer("timeout_seconds")),
             .status = db::enum_of<Status>(row, "status"),
             .exit_code = {},
             .reason = {},
             .message = {},
             .created_by = {},
             .inserted_at = {},
             .made_at = {},
             .started_at = {},
             .finished_at = {}};
  if (const auto code = row.integer_or_null("exit_code")) run.exit_code = int(*code);
  run.reason = db::enum_or_null<Reason>(row, "reason");
  run.message = row.text_or_null("message");
  run.created_by = row.text_or_null("created_by");
  run.inserted_at = row.instant("inserted_at");
  run.made_at = row.instant_or_null("made_at");
  run.started_at = row.instant_or_null("started_at");
  run.finished_at = row.instant_or_null("finished_at");
  return run;
}

std::vector<Run> runs_of(db::Query rows) {
  std::vector<Run> all;
  while (rows.next()) all.push_back(run_of(rows));
  return all;
}

std::optional<Run> first_of(db::Query rows) {
  return rows.next() ? std::optional(run_of(rows)) : std::nullopt;
}

// The release of a rollout that hasn't run yet says whether it may begin, so it stays for as long.
const std::string removable = R"(
        AND r.finished_at IS NOT NULL
        AND NOT (r.kind = 'release'
                 AND EXISTS (SELECT 1
                             FROM deployment_revisions v
                             WHERE v.deployment_id = r.deployment_id
                               AND v.generation = r.generation
                               AND v.succeeded_at IS NULL))
)";

void remove_beyond(db::Tx& tx, const std::string& deployment_id) {
  static const std::string sql = R"(
      DELETE FROM deployment_runs
      WHERE id IN (SELECT r.id
                   FROM deployment_runs r
                   WHERE r.deployment_id = $1
                     AND r.id <= (SELECT id
                                  FROM deployment_runs
                                  WHERE deployment_id = $1 AND finished_at IS NOT NULL
                                  ORDER BY id DESC
                                  LIMIT 1 OFFSET $2))" +
                                 removable + R"())";
  tx.execute(sql, deployment_id, kept_runs);
}

void wake(db::Tx& tx, const Run& run) {
  tx.notify(db::Topic::run, run.id);
  // A rollout waits for its release.
  if (run.kind == Kind::release) tx.notify(db::Topic::deployment, run.deployment_id);
}

}  // namespace

void admit(db::Tx& tx, const std::string& deployment_id) { metering::admit_run(tx, deployment_id); }

void check_limits(db::Tx& tx, const Deployment& deployment) {
  const auto of_deployment = tx.number(R"(
      SELECT count(*)
      FROM deployment_runs
      WHERE deployment_id = $1 AND finished_at IS NULL)",
                                       deployment.id);
  if (of_deployment >= max_open_of_deployment)
    throw Error(Code::run_limit_reached,
                "the deployment has " + std::to_string(of_deployment) +
                    " runs under way, which is the limit; wait for one, or cancel it");
  const auto of_account = tx.number(R"(
      SELECT count(*)
      FROM deployment_runs
      WHERE owner_id = $1 AND finished_at IS NULL)",
                                    deployment.owner_id);
  if (of_account >= max_open_of_account)
    throw Error(Code::run_limit_reached,
                "the account's deployments have " + std::to_string(of_account) +
                    " runs under way, which is the limit; wait for one, or cancel it");
}

Revision runnable_revision(db::Tx& tx, const Deployment& deployment) {
  using deployments::Status;
  if (deployment.status == Status::destroyed)
    throw Error(Code::deployment_destroyed, "the deployment was deleted");
  deployments::check_not_suspended(deployment);
  if (deployment.status == Status::stopped)
    throw Error(
        Code::invalid_state,
        deployment.billing_status == billing::Status::suspended
            ? "the deployment was stopped for want of points, or because a budget is spent; it "
              "starts again when there are some, and runs commands again from then on"
            : "the deployment is stopped, and runs no commands; start it with `berth deploy "
              "restart " +
                  deployment.name + "`");
  auto revision = deployments::newest_that_ran(tx, deployment.id);
  if (!revision)
    throw Error(Code::invalid_state,
                "nothing of the deployment has run yet, so that there is no image to run commands "
                "with; wait for its first rollout (`berth deploy status " +
                    deployment.name + "`)");
  return std::move(*revision);
}

deployments::ProcessSpec process_of(const deployments::ContainerSpec& container,
                                    const std::string& name) {
  const auto all = deployments::processes_of(container);
  const auto found = std::ranges::find(all, name, &deployments::ProcessSpec::name);
  return found == all.end() ? all.front() : *found;
}

std::optional<Run> insert(db::Tx& tx, const Deployment& deployment, const Revision& revision,
                          const NewRun& wanted) {
  const std::string id = new_uuid(tx.now());
  const int inserted = tx.execute(
      R"(
      INSERT INTO deployment_runs
        (id, deployment_id, app_id, owner_id, kind, name, minute, generation, process, command,
         image, timeout_seconds, status, created_by, inserted_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'pending', $13, $14)
      ON CONFLICT DO NOTHING)",
      id, deployment.id, deployment.app_id, deployment.owner_id, to_string(wanted.kind),
      wanted.name, wanted.minute, revision.generation, wanted.process,
      nlohmann::json(wanted.command).dump(),
      deployments::pinned(revision.container.image, revision.image_digest),
      std::int64_t(wanted.timeout.count()), wanted.created_by, tx.now());
  if (inserted == 0) return std::nullopt;
  remove_beyond(tx, deployment.id);
  tx.notify(db::Topic::run, id);
  return find(tx, id);
}

bool end(db::Tx& tx, const Run& run, Status status, Reason reason,
         const std::optional<std::string>& message) {
  const int ended = tx.execute(
      R"(
      UPDATE deployment_runs
      SET status = $2, reason = $3, message = $4, finished_at = $5
      WHERE id = $1 AND finished_at IS NULL)",
      run.id, to_string(status), to_string(reason),
      message ? std::optional(cut(*message, max_message_length)) : std::nullopt, tx.now());
  if (ended == 0) return false;
  metering::look_at(tx, run.app_id);  // what was held for it isn't needed any more
  wake(tx, run);
  return true;
}

bool reopen(db::Tx& tx, const Run& run) {
  const int opened = tx.execute(R"(
      UPDATE deployment_runs
      SET status = 'pending', reason = NULL, message = NULL, finished_at = NULL, inserted_at = $2,
          owner_id = (SELECT d.owner_id FROM deployments d WHERE d.id = deployment_id)
      WHERE id = $1 AND status = 'failed' AND made_at IS NULL)",
                                run.id, tx.now());
  if (opened == 0) return false;
  wake(tx, run);
  return true;
}

void tell_failure(db::Tx& tx, const Run& run) {
  nlohmann::json details = {
      {"run_id", run.id},
      {"kind", to_string(run.kind)},
      {"name", run.name.empty() ? nlohmann::json() : nlohmann::json(run.name)},
      {"process", run.process},
      {"generation", run.generation},
      {"exit_code", nullptr},
      {"reason", nullptr},
      {"message", nullptr}};
  if (run.exit_code) details["exit_code"] = *run.exit_code;
  if (run.reason) details["reason"] = to_string(*run.reason);
  if (run.message) details["message"] = *run.message;
  deployments::write_log(tx, run.deployment_id,
                         {.action = deployments::LogAction::run,
                          .status = deployments::LogStatus::failed,
                          .initiated_by = run.created_by,
                          .details = details.dump()});
  details["deployment_id"] = run.deployment_id;
  webhooks::emit(tx, run.app_id, "deployment.run_failed", run.deployment_id, details);
}

std::optional<Run> newest_of_cron(db::Tx& tx, const std::string& deployment_id,
                                  const std::string& name) {
  static const std::string sql = select_runs + R"(
      WHERE r.deployment_id = $1 AND r.name = $2 AND r.kind = 'cron'
      ORDER BY r.id DESC
      LIMIT 1)";
  return first_of(tx.query(sql, deployment_id, name));
}

std::optional<Run> release_run(db::Tx& tx, const std::string& deployment_id,
                               std::int64_t generation) {
  static const std::string sql = select_runs + R"(
      WHERE r.deployment_id = $1 AND r.generation = $2 AND r.kind = 'release')";
  return first_of(tx.query(sql, deployment_id, generation));
}

std::optional<Run> open_release(db::Tx& tx, const std::string& deployment_id) {
  static const std::string sql = select_runs + R"(
      WHERE r.deployment_id = $1 AND r.finished_at IS NULL AND r.kind = 'release'
      ORDER BY r.id
      LIMIT 1)";
  return first_of(tx.query(sql, deployment_id));
}

std::optional<Run> find(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_runs + R"(WHERE r.id = $1)";
  return first_of(tx.query(sql, id));
}

Page<Run> list(db::Tx& tx, const std::string& deployment_id, const PageRequest& page) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM deployment_runs WHERE deployment_id = $1 LIMIT $2) counted)",
                              .rows = select_runs + R"(
      WHERE r.deployment_id = $1 AND r.id < $2
      ORDER BY r.id DESC
      LIMIT $3 OFFSET $4)",
                              .sorted_by = {{SortColumn::Type::text, "id"}}};
  return read_page(tx, sql, page, run_of, deployment_id);
}

std::vector<Run> open_runs(db::Tx& tx, const std::string& after, int most) {
  static const std::string sql = select_runs + R"(
      WHERE r.finished_at IS NULL AND r.id > $1
      ORDER BY r.id
      LIMIT $2)";
  return runs_of(tx.query(sql, after, most));
}

std::vector<Run> open_of(db::Tx& tx, const std::string& deployment_id) {
  static const std::string sql = select_runs + R"(
      WHERE r.deployment_id = $1 AND r.finished_at IS NULL
      ORDER BY r.id)";
  return runs_of(tx.query(sql, deployment_id));
}

bool record_made(db::Tx& tx, const std::string& id) {
  return tx.execute(R"(
      UPDATE deployment_runs
      SET made_at = $2
      WHERE id = $1 AND made_at IS NULL AND finished_at IS NULL)",
                    id, tx.now()) > 0;
}

bool would_change(const Run& run, const Seen& seen) {
  if (is_over(run.status)) return false;
  return seen.end || (seen.started_at && run.status == Status::pending) ||
         (seen.image_digest && seen.image_digest != run.image_digest);
}

bool record(db::Tx& tx, const std::string& id, const Seen& seen) {
  const auto run = find(tx, id);
  if (!run || !would_change(*run, seen)) return false;
  Run next = *run;
  // The cluster's clock may be ahead of berthd's.
  if (seen.started_at && !next.started_at) next.started_at = std::min(*seen.started_at, tx.now());
  if (next.started_at) next.status = Status::running;
  if (seen.image_digest) next.image_digest = seen.image_digest;
  if (const auto& end = seen.end) {
    next.exit_code = end->exit_code;
    next.reason = end->reason;
    if (!next.reason && end->exit_code.value_or(0) != 0) next.reason = Reason::command_failed;
    next.status = next.reason ? Status::failed : Status::succeeded;
    if (!end->message.empty()) next.message = without_nuls(cut(end->message, max_message_length));
    next.finished_at = std::min(end->at, tx.now());
    if (next.started_at) next.finished_at = std::max(*next.finished_at, *next.started_at);
  }
  const int changed = tx.execute(
      R"(
      UPDATE deployment_runs
      SET status = $2, started_at = $3, image_digest = $4, exit_code = $5, reason = $6,
          message = $7, finished_at = $8, made_at = coalesce(made_at, $9)
      WHERE id = $1 AND finished_at IS NULL)",
      id, to_string(next.status), next.started_at, next.image_digest, next.exit_code,
      to_string(next.reason), next.message, next.finished_at, tx.now());
  if (changed == 0) return false;
  if (seen.end) {
    metering::look_at(tx, next.app_id);
    if (next.status == Status::failed) tell_failure(tx, next);
    wake(tx, next);
  } else {
    tx.notify(db::Topic::run, id);
  }
  return true;
}

void store_log(db::Tx& tx, const std::string& id, const Log& log) {
  std::string_view kept = log.lines;
  bool is_cut = log.is_cut;
  if (kept.size() > max_log_bytes) {
    kept.remove_prefix(kept.size() - max_log_bytes);
    kept.remove_prefix(std::min(kept.find('\n'), kept.size() - 1) + 1);
    is_cut = true;
  }
  tx.execute(R"(
      INSERT INTO deployment_run_logs (run_id, lines, is_cut)
      SELECT id, $2, CAST($3 AS BIGINT)
      FROM deployment_runs
      WHERE id = $1
      ON CONFLICT DO NOTHING)",
             id, without_nuls(kept), is_cut);
  tx.notify(db::Topic::run, id);
}

std::optional<Log> log_of(db::Tx& tx, const std::string& id) {
  auto rows = tx.query(R"(SELECT lines, is_cut FROM deployment_run_logs WHERE run_id = $1)", id);
  if (!rows.next()) return std::nullopt;
  return Log{.lines = rows.text("lines"), .is_cut = rows.flag("is_cut")};
}

bool is_any_old(db::Tx& tx) {
  static const std::string sql = R"(
      SELECT 1
      FROM deployment_runs r
      WHERE r.finished_at <= $1)" +
                                 removable + R"(LIMIT 1)";
  return tx.number(sql, tx.now() - kept_for) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  static const std::string sql = R"(
      DELETE FROM deployment_runs
      WHERE id IN (SELECT r.id
                   FROM deployment_runs r
                   WHERE r.finished_at <= $1)" +
                                 removable + R"(LIMIT $2))";
  return tx.execute(sql, tx.now() - kept_for, limit);
}

int erase(db::Tx& tx, const std::string& deployment_id, int limit) {
  return tx.execute(R"(
      DELETE FROM deployment_runs
      WHERE id IN (SELECT id
                   FROM deployment_runs
                   WHERE deployment_id = $1 AND finished_at IS NOT NULL
                   LIMIT $2))",
                    deployment_id, limit);
}

Counts counts(db::Tx& tx) {
  auto rows = tx.query(R"(
      SELECT count(*) AS open, count(started_at) AS running
      FROM deployment_runs
      WHERE finished_at IS NULL)");
  rows.next();
  const std::int64_t running = rows.integer("running");
  return {.pending = rows.integer("open") - running, .running = running};
}

}  // namespace berth::runs
