#include "reconcilers/cluster/usage_history.h"

#include <sqlite3.h>

#include "controller/base/log.h"
#include "controller/db/sqlite/migrate.h"
#include "controller/db/sqlite/private_file.h"

namespace berth::reconcilers {

namespace usage_history_migrations {
const std::vector<EmbeddedFile>& files();  // usage_history_migrations/*.sql
}

namespace {

using usage_history::Metric;
using usage_history::Values;

constexpr std::int64_t minutes_of_slot = usage_history::quarter / usage_history::minute;
constexpr std::int64_t slots_of_day = std::chrono::days(1) / usage_history::quarter;
constexpr std::int64_t slots_kept = usage_history::minutes_kept_for / usage_history::quarter;
constexpr std::int64_t days_kept = usage_history::quarters_kept_for / std::chrono::days(1);
constexpr int patience_ms = 5'000;  // how long a statement waits for the other connection's lock
constexpr int first_value = 3;      // the first column or placeholder with a value, counted from 0
constexpr int checkpoint_pages = 1'000;  // about 4 MB of WAL

// Placeholders that aren't bound are NULL.
constexpr const char* insert_minute = R"(
    INSERT INTO minutes
      (slot, series, part, cpu, memory, replicas, restarts, requests_2xx, requests_3xx, requests_4xx,
       requests_5xx, latency_p50, latency_p95, latency_p99)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
    ON CONFLICT DO NOTHING)";

// A quarter of an hour has the mean of its minutes' levels and the sum of their counts. Quantiles
// can't be combined, so the slowest minute stands for all.
constexpr const char* insert_quarter = R"(
    INSERT INTO quarters
      (slot, series, part, cpu, memory, replicas, restarts, requests_2xx, requests_3xx, requests_4xx,
       requests_5xx, latency_p50, latency_p95, latency_p99)
    SELECT ?2, series, ?3, round(avg(cpu)), round(avg(memory)), round(avg(replicas)), sum(restarts),
      sum(requests_2xx), sum(requests_3xx), sum(requests_4xx), sum(requests_5xx), max(latency_p50),
      max(latency_p95), max(latency_p99)
    FROM minutes
    WHERE slot = ?1
    GROUP BY series
    ON CONFLICT DO NOTHING)";

constexpr const char* select_minutes = R"(
    SELECT slot, series, part, cpu, memory, replicas, restarts, requests_2xx, requests_3xx,
      requests_4xx, requests_5xx, latency_p50, latency_p95, latency_p99
    FROM minutes
    WHERE slot = ?1 AND series = ?2)";
constexpr const char* select_quarters = R"(
    SELECT slot, series, part, cpu, memory, replicas, restarts, requests_2xx, requests_3xx,
      requests_4xx, requests_5xx, latency_p50, latency_p95, latency_p99
    FROM quarters
    WHERE slot = ?1 AND series = ?2)";

void remove_files(const std::filesystem::path& file) {
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + end);
}

SQLite::Database open(const std::filesystem::path& file) {
  db::sqlite::make_private(file);
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                            patience_ms);
  database.exec(R"(PRAGMA journal_mode = WAL)");
  database.exec(R"(PRAGMA synchronous = NORMAL)");
  database.exec("PRAGMA wal_autocheckpoint = " + std::to_string(checkpoint_pages));
  db::sqlite::migrate(database, system_time(), usage_history_migrations::files());
  return database;
}

SQLite::Database open_or_begin_anew(const std::filesystem::path& file) {
  try {
    return open(file);
  } catch (const SQLite::Exception& failure) {
    const int code = failure.getErrorCode() & 0xff;
    if (code != SQLITE_CORRUPT && code != SQLITE_NOTADB) throw;
    log::error("the history of the deployments' usage is damaged and begins anew",
               {{"file", file.string()}, {"error", failure.what()}});
    remove_files(file);
    return open(file);
  }
}

std::int64_t number(SQLite::Database& database, const char* sql, std::int64_t value = 0) {
  SQLite::Statement statement(database, sql);
  if (statement.getBindParameterCount() > 0) statement.bind(1, value);
  return statement.executeStep() ? statement.getColumn(0).getInt64() : 0;
}

Values values_of(SQLite::Statement& row) {
  Values values;
  for (size_t metric = 0; metric < values.size(); ++metric)
    if (const auto column = row.getColumn(first_value + int(metric)); !column.isNull())
      values.at(metric) = column.getInt64();
  return values;
}

}  // namespace

UsageHistory::UsageHistory(const std::filesystem::path& file)
    : writer_(open_or_begin_anew(file)),
      reader_(file.string(), SQLite::OPEN_READONLY, patience_ms) {
  const std::int64_t day = number(writer_, R"(SELECT max(slot) FROM quarters)");
  const std::int64_t part =
      number(writer_, R"(SELECT max(part) FROM quarters WHERE slot = ?1)", day);
  summed_up_ = day == 0 ? 0 : day * slots_of_day + part + 1;
}

void UsageHistory::add(Instant at, const Samples& samples) {
  const std::lock_guard lock(writing_);
  const std::int64_t minute = at.time_since_epoch() / usage_history::minute;
  const std::int64_t slot = minute / minutes_of_slot;
  SQLite::Transaction transaction(writer_, SQLite::TransactionBehavior::IMMEDIATE);
  try {
    insert(minute, samples);
    if (slot > summed_up_) {
      sum_up(slot);
      forget(slot);
    }
    transaction.commit();
  } catch (...) {
    series_.clear();  // may contain series whose rows were rolled back
    throw;
  }
  summed_up_ = std::max(summed_up_, slot);
}

void UsageHistory::insert(std::int64_t minute, const Samples& samples) {
  const std::int64_t slot = minute / minutes_of_slot;
  SQLite::Statement statement(writer_, insert_minute);
  for (const auto& [deployment, values] : samples) {
    statement.reset();
    statement.clearBindings();
    statement.bind(1, slot);
    statement.bind(2, series_of(deployment, slot / slots_of_day));
    statement.bind(3, minute % minutes_of_slot);
    for (size_t metric = 0; metric < values.size(); ++metric)
      if (const auto& value = values.at(metric))
        statement.bind(first_value + 1 + int(metric), *value);
    statement.exec();
  }
}

// Returns the number of the deployment's series. The day of its last sample is noted once a day.
std::int64_t UsageHistory::series_of(const std::string& deployment, std::int64_t day) {
  Series& known = series_[deployment];
  if (known.number != 0 && known.last_day >= day) return known.number;
  SQLite::Statement statement(writer_, R"(
      INSERT INTO series (deployment, last_day)
      VALUES (?1, ?2)
      ON CONFLICT (deployment) DO UPDATE SET last_day = max(last_day, excluded.last_day)
      RETURNING number)");
  statement.bind(1, deployment);
  statement.bind(2, day);
  statement.executeStep();
  known = {.number = statement.getColumn(0).getInt64(), .last_day = day};
  return known.number;
}

// Sums up the minutes of all quarters of an hour since the last one that was summed up, up to the
// present one, which has just begun.
void UsageHistory::sum_up(std::int64_t slot) {
  SQLite::Statement waiting(writer_,
                            R"(SELECT DISTINCT slot FROM minutes WHERE slot >= ?1 AND slot < ?2)");
  waiting.bind(1, summed_up_);
  waiting.bind(2, slot);
  while (waiting.executeStep()) {
    const std::int64_t ended = waiting.getColumn(0).getInt64();
    SQLite::Statement statement(writer_, insert_quarter);
    statement.bind(1, ended);
    statement.bind(2, ended / slots_of_day);
    statement.bind(3, ended % slots_of_day);
    statement.exec();
  }
}

void UsageHistory::forget(std::int64_t slot) {
  const std::int64_t day = slot / slots_of_day;
  const auto forget_before = [this](const char* sql, std::int64_t first) {
    SQLite::Statement statement(writer_, sql);
    statement.bind(1, first);
    return statement.exec();
  };
  forget_before(R"(DELETE FROM minutes WHERE slot < ?1)", slot - slots_kept);
  forget_before(R"(DELETE FROM quarters WHERE slot < ?1)", day - days_kept);
  if (forget_before(R"(DELETE FROM series WHERE last_day < ?1)", day - days_kept) > 0)
    series_.clear();
}

std::vector<Values> UsageHistory::read(const usage_history::Wanted& wanted) {
  std::vector<Values> steps(size_t(std::max(wanted.count, 0)));
  const std::lock_guard lock(reading_);
  SQLite::Statement of_deployment(reader_, R"(SELECT number FROM series WHERE deployment = ?1)");
  of_deployment.bind(1, wanted.deployment_id);
  if (!of_deployment.executeStep()) return steps;
  const std::int64_t series = of_deployment.getColumn(0).getInt64();
  const bool by_minute = wanted.step == usage_history::minute;
  const std::int64_t parts = by_minute ? minutes_of_slot : slots_of_day;
  const std::int64_t first = wanted.from.time_since_epoch() / wanted.step;
  const std::int64_t end = first + std::int64_t(steps.size());
  SQLite::Statement rows(reader_, by_minute ? select_minutes : select_quarters);
  for (std::int64_t slot = first / parts; slot * parts < end; ++slot) {
    rows.reset();
    rows.bind(1, slot);
    rows.bind(2, series);
    while (rows.executeStep()) {
      const std::int64_t step = slot * parts + rows.getColumn(2).getInt64();
      if (step >= first && step < end) steps.at(size_t(step - first)) = values_of(rows);
    }
  }
  return steps;
}

}  // namespace berth::reconcilers
