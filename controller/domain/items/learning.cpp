#include "controller/domain/items/learning.h"

#include <algorithm>

#include "controller/base/error.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/items/learning_rows.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::learning {
namespace {

// $1 is the user's id.
const std::string select_progress = R"(
      SELECT)" + module_columns + R"(,
             CASE WHEN EXISTS (SELECT 1
                               FROM learning_modules b
                               LEFT JOIN learning_progress q
                                 ON q.module_id = b.id AND q.user_id = $1
                               WHERE b.number < m.number
                                 AND b.active = 1
                                 AND q.first_completed_at IS NULL)
                  THEN 0 ELSE 1 END AS is_open,
             p.started_at, p.completed, p.completed_at, p.repeat_eligible_at
      FROM learning_modules m
      LEFT JOIN learning_progress p ON p.module_id = m.id AND p.user_id = $1
      WHERE m.active = 1)";

Progress progress_of(const db::Query& row) {
  const Module module = module_of(row);
  return {.module = module,
          .open = row.flag("is_open"),
          .started_at = row.instant_or_null("started_at"),
          // An administrator may have reduced the number of steps since.
          .completed = std::min(row.integer("completed"), module.total),
          .completed_at = row.instant_or_null("completed_at"),
          .repeat_eligible_at = row.instant_or_null("repeat_eligible_at")};
}

bool begins_round(const Progress& progress, Instant now) {
  if (!progress.started_at) return true;
  return progress.completed_at && progress.repeat_eligible_at &&
         now >= *progress.repeat_eligible_at;
}

void begin_round(db::Tx& tx, const std::string& user_id, Progress& progress) {
  tx.execute(
      R"(
      INSERT INTO learning_progress (user_id, module_id, started_at)
      VALUES ($1, $2, $3)
      ON CONFLICT (user_id, module_id) DO UPDATE
        SET started_at = excluded.started_at,
            completed = 0,
            completed_at = NULL,
            repeat_eligible_at = NULL)",
      user_id, progress.module.id, tx.now());
  progress.started_at = tx.now();
  progress.completed = 0;
  progress.completed_at = std::nullopt;
  progress.repeat_eligible_at = std::nullopt;
}

rewards::Outcome pay(db::Tx& tx, const rewards::Rules& rules, const Learner& learner,
                     const Module& module) {
  const auto app = learner.app_id ? apps::find(tx, *learner.app_id) : std::nullopt;
  return rewards::pay(tx, rules,
                      {.kind = rewards::Kind::learning,
                       .user_id = learner.user_id,
                       .app_owner_id = app ? std::optional(app->owner_id) : std::nullopt,
                       .amount = module.points,
                       .memo = module.title});
}

void store(db::Tx& tx, const std::string& user_id, const Progress& progress) {
  tx.execute(
      R"(
      UPDATE learning_progress
      SET completed = $3,
          completed_at = $4,
          repeat_eligible_at = $5,
          first_completed_at = coalesce(first_completed_at, $4)
      WHERE user_id = $1 AND module_id = $2)",
      user_id, progress.module.id, progress.completed, progress.completed_at,
      progress.repeat_eligible_at);
}

}  // namespace

std::optional<Instant> Progress::counts_from() const {
  if (!started_at) return std::nullopt;
  return *started_at + std::chrono::seconds(module.min_seconds);
}

Page<Progress> list(db::Tx& tx, const std::string& user_id, const PageRequest& page) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM learning_modules WHERE active = 1 AND $1 <> '' LIMIT $2) counted)",
                              .rows = select_progress + R"(
        AND m.number > $2
      ORDER BY m.number
      LIMIT $3 OFFSET $4)",
                              .sorted_by = {{SortColumn::Type::integer, "number"}},
                              .order = ListSql::Order::ascending};
  return read_page(tx, sql, page, progress_of, user_id);
}

Progress find(db::Tx& tx, const std::string& user_id, std::int64_t number) {
  static const std::string sql = select_progress + R"(
        AND m.number = $2)";
  auto rows = tx.query(sql, user_id, number);
  if (!rows.next()) throw Error(Code::module_not_found, "there is no such module");
  return progress_of(rows);
}

Report report(db::Tx& tx, const rewards::Rules& rules, const Learner& learner, std::int64_t number,
              std::int64_t completed) {
  tx.require_serializable();
  Report result = {
      .progress = find(tx, learner.user_id, number), .counted = Counted::yes, .reward = {}};
  Progress& progress = result.progress;
  const Module& module = progress.module;
  if (completed > module.total)
    throw invalid_field("completed", "must be at most " + std::to_string(module.total));
  if (!progress.open)
    throw Error(Code::invalid_state, "the module before this one isn't completed yet");
  if (begins_round(progress, tx.now())) begin_round(tx, learner.user_id, progress);
  if (completed < progress.completed)
    throw Error(Code::invalid_state, "can't go back: " + std::to_string(progress.completed) +
                                         " steps are already completed");
  const bool nothing_new =
      completed == progress.completed && (completed < module.total || progress.completed_at);
  if (nothing_new) return result;
  if (tx.now() < *progress.counts_from()) {
    result.counted = Counted::too_early;
    return result;
  }
  progress.completed = completed;
  if (completed == module.total && !progress.completed_at) {
    progress.completed_at = tx.now();
    if (module.repeat_after_seconds)
      progress.repeat_eligible_at = tx.now() + std::chrono::seconds(*module.repeat_after_seconds);
    result.reward = pay(tx, rules, learner, module);
  }
  store(tx, learner.user_id, progress);
  return result;
}

Path path(db::Tx& tx, const std::string& user_id) {
  Path result;
  auto chosen = tx.query(R"(SELECT path FROM learning_paths WHERE user_id = $1)", user_id);
  if (chosen.next()) result.name = chosen.text("path");
  auto rows = tx.query(
      R"(
      SELECT count(*) AS modules,
             count(p.user_id) AS begun,
             count(p.first_completed_at) AS completed
      FROM learning_modules m
      LEFT JOIN learning_progress p ON p.module_id = m.id AND p.user_id = $1
      WHERE m.active = 1)",
      user_id);
  rows.next();
  const std::int64_t all = rows.integer("modules");
  if (rows.integer("begun") > 0) result.status = PathStatus::in_progress;
  if (all > 0 && rows.integer("completed") == all) result.status = PathStatus::completed;
  return result;
}

Path choose_path(db::Tx& tx, const std::string& user_id, const std::string& name) {
  tx.execute(
      R"(
      INSERT INTO learning_paths (user_id, path)
      VALUES ($1, $2)
      ON CONFLICT (user_id) DO UPDATE SET path = excluded.path)",
      user_id, name);
  return path(tx, user_id);
}

void forget(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(DELETE FROM learning_progress WHERE user_id = $1)", user_id);
  tx.execute(R"(DELETE FROM learning_paths WHERE user_id = $1)", user_id);
}

}  // namespace berth::learning
