#include "controller/domain/deployments/runs/crons.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/db/enum_column.h"
#include "controller/domain/deployments/runs/cron_schedule.h"
#include "controller/domain/deployments/runs/run_rows.h"

namespace berth::crons {
namespace {

using deployments::Cron;
using deployments::Deployment;
using runs::Run;

struct Row {
  std::string name;
  std::string schedule;
  std::string zone;
  std::optional<Instant> next_at;
  std::optional<Instant> due_at;
  std::optional<Instant> skipped_at;
  std::optional<Skipped> skipped;
};

Row row_of(const db::Query& row) {
  return {.name = row.text("name"),
          .schedule = row.text("schedule"),
          .zone = row.text("zone"),
          .next_at = row.instant_or_null("next_at"),
          .due_at = row.instant_or_null("due_at"),
          .skipped_at = row.instant_or_null("skipped_at"),
          .skipped = db::enum_or_null<Skipped>(row, "skipped")};
}

std::map<std::string, Row> rows_of(db::Tx& tx, const std::string& deployment_id) {
  std::map<std::string, Row> all;
  auto rows = tx.query(R"(
      SELECT name, schedule, zone, next_at, due_at, skipped_at, skipped
      FROM deployment_crons
      WHERE deployment_id = $1)",
                       deployment_id);
  while (rows.next()) all.emplace(rows.text("name"), row_of(rows));
  return all;
}

std::optional<Row> row_for(db::Tx& tx, const Key& key) {
  auto rows = tx.query(R"(
      SELECT name, schedule, zone, next_at, due_at, skipped_at, skipped
      FROM deployment_crons
      WHERE deployment_id = $1 AND name = $2)",
                       key.deployment_id, key.name);
  return rows.next() ? std::optional(row_of(rows)) : std::nullopt;
}

// What was accepted once stays readable; but the system's zones may change with an update, and a
// cron of a zone that is gone doesn't run.
std::optional<Instant> next_after(const std::string& schedule, const std::string& zone,
                                  Instant after) {
  return is_zone(zone) ? Schedule::parse(schedule).next_after(after, zone) : std::nullopt;
}

// The newest minute at which the cron was due, from `first` on.
Instant newest_due(const Row& row, Instant first, Instant now) {
  // Of the minutes longer ago, nobody asks.
  Instant newest = first;
  Instant from = std::max(first, now - caught_up_for - std::chrono::minutes(1));
  if (from > first) from -= std::chrono::milliseconds(1);
  for (auto next = next_after(row.schedule, row.zone, from); next && *next <= now;
       next = next_after(row.schedule, row.zone, *next))
    newest = *next;
  return newest;
}

bool is_stopped(const Deployment& deployment) {
  return deployment.status == deployments::Status::stopped ||
         deployment.status == deployments::Status::destroyed;
}

void set_next(db::Tx& tx, const Key& key, const std::optional<Instant>& next) {
  tx.execute(R"(
      UPDATE deployment_crons
      SET next_at = $3, due_at = $3
      WHERE deployment_id = $1 AND name = $2)",
             key.deployment_id, key.name, next);
}

void set_skipped(db::Tx& tx, const Key& key, const std::optional<Instant>& minute,
                 const std::optional<Skipped>& why) {
  tx.execute(R"(
      UPDATE deployment_crons
      SET skipped_at = $3, skipped = $4
      WHERE deployment_id = $1 AND name = $2)",
             key.deployment_id, key.name, minute, to_string(why));
}

const Cron* find_cron(const Deployment& deployment, const std::string& name) {
  const auto found = std::ranges::find(deployment.container.crons, name, &Cron::name);
  return found == deployment.container.crons.end() ? nullptr : &*found;
}

// Makes a run of the cron. Throws what refuses it, and then changes nothing. Returns nothing if the
// minute has its run.
std::optional<Run> make(db::Tx& tx, const Deployment& deployment, const Cron& cron,
                        const std::optional<Instant>& minute,
                        const std::optional<std::string>& created_by) {
  const auto revision = runs::runnable_revision(tx, deployment);
  if (const auto last = runs::newest_of_cron(tx, deployment.id, cron.name);
      last && !runs::is_over(last->status))
    throw Error(Code::invalid_state,
                "the last run of " + cron.name + " isn't over; wait for it, or cancel it");
  runs::check_limits(tx, deployment);
  runs::admit(tx, deployment.id);
  return runs::insert(tx, deployment, revision,
                      {.kind = runs::Kind::cron,
                       .name = cron.name,
                       .minute = minute,
                       .process = runs::process_of(deployment.container, cron.process).name,
                       .command = cron.command,
                       .created_by = created_by});
}

// Why make() refused; nothing for what isn't a reason to skip a minute.
std::optional<Skipped> skipped_for(db::Tx& tx, const Error& refused, const Deployment& deployment) {
  switch (refused.code) {
    case Code::run_limit_reached:
      return Skipped::limit;
    case Code::insufficient_balance:
    case Code::budget_reached:
      return Skipped::points_missing;
    case Code::invalid_state:
      return deployments::newest_that_ran(tx, deployment.id) ? Skipped::overlap
                                                             : Skipped::not_deployed;
    default:
      return std::nullopt;
  }
}

// A cron that can't be paid is told of once, not at each of its minutes.
void tell_unpaid(db::Tx& tx, const Key& key, Instant minute, const std::string& words) {
  deployments::write_log(tx, key.deployment_id,
                         {.action = deployments::LogAction::run,
                          .status = deployments::LogStatus::failed,
                          .initiated_by = {},
                          .details = nlohmann::json{
                              {"kind", to_string(runs::Kind::cron)},
                              {"name", key.name},
                              {"minute", to_iso8601(minute)},
                              {"reason", to_string(Skipped::points_missing)},
                              {"message",
                               words}}.dump()});
}

}  // namespace

std::vector<State> states(db::Tx& tx, const Deployment& deployment) {
  std::vector<State> all;
  auto rows = rows_of(tx, deployment.id);
  for (const Cron& cron : deployment.container.crons) {
    const Row& row = rows[cron.name];
    all.push_back({.name = cron.name,
                   .schedule = cron.schedule,
                   .zone = cron.zone,
                   .next_at = row.next_at,
                   .last = runs::newest_of_cron(tx, deployment.id, cron.name),
                   .skipped_at = row.skipped_at,
                   .skipped = row.skipped});
  }
  return all;
}

Run start(db::Tx& tx, const deployments::Actor& actor, const std::string& deployment_id,
          const std::string& name) {
  tx.require_serializable();
  const Deployment deployment = deployments::get_living(tx, actor, deployment_id);
  const Cron* cron = find_cron(deployment, name);
  if (!cron) throw Error(Code::cron_not_found, "the deployment has no cron with the name " + name);
  return *make(tx, deployment, *cron, {}, actor.user_id);
}

std::vector<Key> due(db::Tx& tx, int most) {
  std::vector<Key> keys;
  auto rows = tx.query(R"(
      SELECT deployment_id, name
      FROM deployment_crons
      WHERE due_at <= $1
      ORDER BY due_at
      LIMIT $2)",
                       tx.now(), most);
  while (rows.next())
    keys.push_back({.deployment_id = rows.text("deployment_id"), .name = rows.text("name")});
  return keys;
}

std::optional<Instant> next_due(db::Tx& tx) {
  auto rows = tx.query(R"(
      SELECT due_at
      FROM deployment_crons
      WHERE due_at IS NOT NULL
      ORDER BY due_at
      LIMIT 1)");
  return rows.next() ? std::optional(rows.instant("due_at")) : std::nullopt;
}

Outcome settle_due(db::Tx& tx, const Key& key) {
  tx.require_serializable();
  const auto row = row_for(tx, key);
  if (!row || !row->due_at || *row->due_at > tx.now()) return Outcome::nothing;
  const auto deployment = deployments::find(tx, key.deployment_id);
  const Cron* cron = deployment ? find_cron(*deployment, key.name) : nullptr;
  if (!cron || is_stopped(*deployment)) {
    set_next(tx, key, {});
    return Outcome::nothing;
  }
  const Instant minute = newest_due(*row, *row->next_at, tx.now());
  set_next(tx, key, next_after(row->schedule, row->zone, std::max(minute, tx.now())));
  if (minute <= tx.now() - caught_up_for) return Outcome::missed;
  try {
    if (!make(tx, *deployment, *cron, minute, {})) return Outcome::nothing;
  } catch (const Error& refused) {
    const auto why = skipped_for(tx, refused, *deployment);
    if (!why) throw;
    if (*why == Skipped::points_missing && row->skipped != why)
      tell_unpaid(tx, key, minute, refused.what());
    set_skipped(tx, key, minute, why);
    return Outcome::skipped;
  }
  if (row->skipped) set_skipped(tx, key, {}, {});
  return Outcome::started;
}

std::vector<Key> too_late(db::Tx& tx) {
  std::vector<Key> keys;
  auto rows = tx.query(R"(
      SELECT deployment_id, name, schedule, zone, next_at
      FROM deployment_crons
      WHERE due_at > $1
      ORDER BY due_at)",
                       tx.now());
  while (rows.next()) {
    const auto next = next_after(rows.text("schedule"), rows.text("zone"), tx.now());
    if (next && *next < rows.instant("next_at"))
      keys.push_back({.deployment_id = rows.text("deployment_id"), .name = rows.text("name")});
  }
  return keys;
}

void correct(db::Tx& tx, const Key& key) {
  const auto row = row_for(tx, key);
  if (!row || !row->next_at) return;
  const auto next = next_after(row->schedule, row->zone, tx.now());
  if (next && *next < *row->next_at) set_next(tx, key, next);
}

void postpone(db::Tx& tx, const Key& key, Instant until) {
  tx.execute(R"(
      UPDATE deployment_crons
      SET due_at = $3
      WHERE deployment_id = $1 AND name = $2 AND due_at <= $4)",
             key.deployment_id, key.name, until, tx.now());
}

void follow(db::Tx& tx, const std::string& deployment_id, const deployments::Crons& crons) {
  auto rows = rows_of(tx, deployment_id);
  if (rows.empty() && crons.empty()) return;
  const auto deployment = deployments::find(tx, deployment_id);
  const bool is_due = deployment && !is_stopped(*deployment);
  for (const Cron& cron : crons) {
    const auto found = rows.find(cron.name);
    const bool is_same = found != rows.end() && found->second.schedule == cron.schedule &&
                         found->second.zone == cron.zone;
    if (found != rows.end()) rows.erase(found);
    if (is_same) continue;
    tx.execute(R"(
        INSERT INTO deployment_crons (deployment_id, name, schedule, zone, next_at, due_at)
        VALUES ($1, $2, $3, $4, $5, $5)
        ON CONFLICT (deployment_id, name) DO UPDATE
        SET schedule = $3, zone = $4, next_at = $5, due_at = $5, skipped_at = NULL, skipped = NULL)",
               deployment_id, cron.name, cron.schedule, cron.zone,
               is_due ? next_after(cron.schedule, cron.zone, tx.now()) : std::nullopt);
  }
  for (const auto& [name, row] : rows)
    tx.execute(R"(DELETE FROM deployment_crons WHERE deployment_id = $1 AND name = $2)",
               deployment_id, name);
}

void deployment_starts(db::Tx& tx, const std::string& deployment_id) {
  for (const auto& [name, row] : rows_of(tx, deployment_id))
    if (!row.next_at)
      set_next(tx, {.deployment_id = deployment_id, .name = name},
               next_after(row.schedule, row.zone, tx.now()));
}

void deployment_stops(db::Tx& tx, const std::string& deployment_id) {
  tx.execute_later(R"(
      UPDATE deployment_crons
      SET next_at = NULL, due_at = NULL, skipped_at = NULL, skipped = NULL
      WHERE deployment_id = $1)",
                   deployment_id);
}

}  // namespace berth::crons
