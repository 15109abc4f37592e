#include "berthd/gauges.h"

#include <algorithm>
#include <iterator>

#include "berthd/backup/newest.h"
#include "berthd/data_dir.h"
#include "berthd/metric_family.h"
#include "berthd/process_metrics.h"
#include "controller/base/log.h"
#include "controller/base/shares.h"
#include "controller/base/version.h"
#include "controller/db/failed_commits.h"
#include "controller/domain/deployments/custom_domains/refused_certificates.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/metering/meter.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/deployments/runs/runs.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/holds.h"
#include "controller/domain/ledger/pending.h"
#include "controller/domain/ledger/rewards.h"
#include "controller/domain/ledger/running_audit.h"
#include "controller/domain/money/money.h"
#include "controller/domain/points/proposals.h"
#include "controller/domain/points/refund_requests.h"
#include "controller/domain/webhooks/backlog.h"

namespace berth {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using Families = std::vector<MetricFamily>;

double size_of(const std::filesystem::path& file) {
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(file, missing);
  return missing ? 0 : double(bytes);
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

MetricFamily build() {
  return gauges("berth_build_info",
                "1, with the version and the commit that berthd was built from.",
                {gauge(1, {{"version", std::string(version)}, {"commit", build_commit()}})});
}

// Runs `work`, which reads the database. If PostgreSQL can't be reached, the failure is logged and
// the other metrics are still served.
template <typename Work>
void if_reachable(const Gauges::Sources& sources, Work&& work) {
  if (sources.postgres == nullptr) return work();
  try {
    db::limited(db::RequestLimits(), work);
  } catch (const std::exception& failure) {
    log::warning("some metrics couldn't be read", {{"error", failure.what()}});
  }
}

// The metrics have no value if the database isn't on SQLite, or can't be reached.
void add_sizes(Families& families, const Gauges::Sources& sources) {
  std::vector<ClientMetric> bytes;
  std::vector<ClientMetric> log_bytes;
  if (sources.postgres == nullptr) {
    const std::filesystem::path database = sources.data_dir / database_name;
    bytes.push_back(gauge(size_of(database)));
    log_bytes.push_back(gauge(size_of(database.string() + "-wal")));
  } else {
    if_reachable(sources, [&] { bytes.push_back(gauge(double(sources.postgres->bytes()))); });
  }
  families.push_back(gauges("berth_database_bytes",
                            "Size of the database: SQLite's file, or what PostgreSQL says.",
                            std::move(bytes)));
  families.push_back(gauges("berth_database_wal_bytes",
                            "Size of SQLite's write-ahead log, which is bounded; absent on "
                            "PostgreSQL.",
                            std::move(log_bytes)));
}

// The metrics have no values if the database is on SQLite.
void add_pool(Families& families, const db::postgres::Database* database) {
  std::vector<ClientMetric> reachable, used, waiting, retries, unknown;
  if (database != nullptr) {
    reachable.push_back(gauge(database->is_reachable() ? 1 : 0));
    for (const auto& pool : database->connections()) {
      used.push_back(gauge(pool.open - pool.idle, {{"use", pool.use}, {"state", "used"}}));
      used.push_back(gauge(pool.idle, {{"use", pool.use}, {"state", "idle"}}));
      waiting.push_back(gauge(double(pool.waiting), {{"use", pool.use}}));
    }
    retries.push_back(counter(double(database->collisions()), {{"reason", "collision"}}));
    retries.push_back(counter(double(database->lost_connections()), {{"reason", "connection"}}));
    unknown.push_back(counter(double(database->unknown_outcomes())));
  }
  families.push_back(gauges("berth_database_reachable",
                            "1 while the PostgreSQL server answers; absent on SQLite.",
                            std::move(reachable)));
  families.push_back(gauges("berth_database_connections",
                            "Connections to PostgreSQL by their use (read, heavy_read, write) and "
                            "state (used, idle); absent on SQLite.",
                            std::move(used)));
  families.push_back(gauges("berth_database_waiting",
                            "Reads and writes that wait for a connection to PostgreSQL, by use; "
                            "absent on SQLite.",
                            std::move(waiting)));
  families.push_back(
      counters("berth_database_retries_total",
               "Writes that were retried on PostgreSQL, by reason: a conflict with other "
               "writes, or lost connection; absent on SQLite.",
               std::move(retries)));
  families.push_back(counters("berth_database_unknown_outcomes_total",
                              "Writes of which PostgreSQL couldn't tell whether they were stored; "
                              "absent on SQLite.",
                              std::move(unknown)));
}

void add_replicas(Families& families, const Replicas* replicas) {
  std::vector<ClientMetric> live;
  if (replicas != nullptr) live.push_back(gauge(replicas->live()));
  families.push_back(
      gauges("berth_database_replicas",
             "How many berthd processes are alive on the PostgreSQL database, with this one; "
             "absent on SQLite.",
             std::move(live)));
}

void add_disk(Families& families, const std::filesystem::path& data_dir) {
  std::error_code unknown;
  const auto space = std::filesystem::space(data_dir, unknown);
  if (unknown) return;
  families.push_back(gauges("berth_disk_bytes", "Size of the data directory's file system.",
                            {gauge(double(space.capacity))}));
  families.push_back(gauges("berth_disk_free_bytes",
                            "Free space of the data directory's file system that berthd may use.",
                            {gauge(double(space.available))}));
}

void add_commits(Families& families, const db::Database& database) {
  families.push_back(counters("berth_database_commits_total",
                              "Committed transactions; each contains one or more writes.",
                              {counter(double(database.commits()))}));
  families.push_back(counters("berth_database_writes_total",
                              "Committed writes, several of which can share a transaction.",
                              {counter(double(database.writes()))}));
  families.push_back(counters("berth_database_failed_commits_total",
                              "Transactions that the disk or the database refused; nothing of "
                              "them is stored.",
                              {counter(double(db::failed_commits()))}));
  families.push_back(counters("berth_database_stopped_statements_total",
                              "Statements of requests that were stopped because they took too "
                              "long, and reads that waited too long for a connection.",
                              {counter(double(db::stopped_statements()))}));
}

// Adds the figures of the pools that are kept in memory. Requests of devices are rows of the
// database and aren't included.
void add_pools(Families& families) {
  std::vector<ClientMetric> places, used, refused;
  for (size_t i = 0; i < pools; ++i) {
    const std::string name(to_string(Pool(i)));
    const PoolFigures figures = figures_of(Pool(i));
    if (figures.places == 0) continue;
    places.push_back(gauge(double(figures.places), {{"pool", name}}));
    used.push_back(gauge(double(figures.used), {{"pool", name}}));
    refused.push_back(
        counter(double(figures.over_share), {{"pool", name}, {"reason", "over_share"}}));
    refused.push_back(counter(double(figures.full), {{"pool", name}, {"reason", "full"}}));
  }
  families.push_back(gauges("berth_pool_places",
                            "Places of the pools that all callers share, with the reserve.",
                            std::move(places)));
  families.push_back(gauges("berth_pool_used",
                            "Places of the pools that are taken; from three "
                            "quarters on, each account and network has a share.",
                            std::move(used)));
  families.push_back(counters("berth_pool_refused_total",
                              "How often a place was refused, by reason: the account or network "
                              "has its share (over_share), or none was left (full).",
                              std::move(refused)));
}

void add_points(Families& families, db::Tx& tx) {
  families.push_back(gauges("berth_treasury_points",
                            "Points on the treasury's account, from which rewards are paid.",
                            {gauge(double(ledger::balance(tx, ledger::treasury())))}));
  families.push_back(gauges("berth_points_supply", "Points that exist: all that were ever minted.",
                            {gauge(-double(ledger::balance(tx, ledger::issuance())))}));
  families.push_back(gauges("berth_holds_open",
                            "Reservations of points that are neither paid out nor given back.",
                            {gauge(double(holds::count_open(tx)))}));
  families.push_back(
      gauges("berth_ledger_violations",
             "Violations that the audit of the ledger has found, until a later pass finds none.",
             {gauge(double(ledger::violations_found(tx)))}));
  families.push_back(
      gauges("berth_points_held",
             "Points that are reserved: for impressions that may be shown, and for what runs by "
             "the hour.",
             {gauge(double(money::held_in_all(tx)))}));
  constexpr std::int64_t most_counted = 10'000;
  families.push_back(
      gauges("berth_refund_requests_open",
             "Requests for points back that nobody has answered; 10000 if there are more.",
             {gauge(double(refund_requests::count_open(tx, most_counted)))}));
  families.push_back(gauges("berth_point_proposals_open",
                            "Refunds and claw-backs that wait for another admin; 10000 if there "
                            "are more.",
                            {gauge(double(proposals::count_open(tx, most_counted)))}));
  std::vector<ClientMetric> of_today;
  const std::int64_t today = utc_day(tx.now());
  for (const auto& [day, kind, sum] : ledger::kinds(tx, ledger::treasury(), today, today)) {
    of_today.push_back(gauge(double(sum.credited), {{"kind", kind}, {"direction", "in"}}));
    of_today.push_back(gauge(double(sum.debited), {{"kind", kind}, {"direction", "out"}}));
  }
  families.push_back(gauges("berth_treasury_points_today",
                            "Points that came to the treasury or left it since midnight (UTC), by "
                            "kind of transaction and direction (in, out).",
                            std::move(of_today)));
}

void add_meter(Families& families, db::Tx& tx) {
  const std::int64_t open = metering::open_runs(tx);
  families.push_back(gauges("berth_meter_runs_open",
                            "Runs of metered containers of which the meter knows no end yet.",
                            {gauge(double(open))}));
  const Duration age = open > 0 ? tx.now() - metering::watched_until(tx) : Duration(0);
  families.push_back(gauges("berth_meter_watch_age_seconds",
                            "Seconds since the process that leads last stored that it has followed "
                            "all pods; 0 while nothing metered runs.",
                            {gauge(seconds(std::max(age, Duration(0))))}));
  const Duration overdue = tx.now() - metering::next_due(tx).value_or(tx.now());
  families.push_back(gauges("berth_meter_overdue_seconds",
                            "Seconds for which the app that has waited longest has been due for "
                            "settling; 0 if none is due.",
                            {gauge(seconds(std::max(overdue, Duration(0))))}));
  families.push_back(gauges("berth_meter_held_points",
                            "Points that apps have but can't spend, because they are held for what "
                            "runs by the hour.",
                            {gauge(double(metering::held_in_total(tx)))}));
}

// Adds the figures that are read from one snapshot of the database.
void add_rows(Families& families, db::Tx& tx, bool on_postgres) {
  std::vector<ClientMetric> by_status;
  const auto counts = deployments::count_by_status(tx);
  using enum deployments::Status;
  for (const auto status : {pending, deploying, running, stopped, errored}) {
    const auto count = counts.find(status);
    by_status.push_back(gauge(count == counts.end() ? 0 : count->second,
                              {{"status", std::string(to_string(status))}}));
  }
  families.push_back(gauges("berth_deployments", "Deployments that aren't destroyed, by status.",
                            std::move(by_status)));
  const runs::Counts open = runs::counts(tx);
  families.push_back(gauges("berth_runs",
                            "Commands of deployments that aren't over, by status: pending or "
                            "running.",
                            {gauge(double(open.pending), {{"status", "pending"}}),
                             gauge(double(open.running), {{"status", "running"}})}));
  families.push_back(gauges("berth_mail_waiting", "Mails in the outbox that wait to be sent.",
                            {gauge(double(outbox::waiting(tx)))}));
  const webhooks::Backlog backlog = webhooks::backlog(tx);
  families.push_back(gauges("berth_webhook_waiting",
                            "Deliveries to webhooks that wait for their first or next attempt.",
                            {gauge(double(backlog.waiting))}));
  families.push_back(gauges(
      "berth_webhook_overdue_seconds",
      "Seconds for which the delivery that has waited longest has been due; 0 if none is due.",
      {gauge(seconds(backlog.overdue))}));
  families.push_back(gauges("berth_ledger_pending_credits",
                            "Credits that wait for about 100 milliseconds until they are added to "
                            "their accounts' rows; 0 on SQLite.",
                            {gauge(double(ledger::count_pending(tx)))}));
  std::vector<ClientMetric> backup_age;
  // PostgreSQL usually has backups of its own. A database that berthd has never backed up therefore
  // has no age there, whereas on SQLite the age counts from the first start.
  const auto age = on_postgres ? backup::since_newest(tx) : backup::age_of_newest(tx);
  if (age) backup_age.push_back(gauge(seconds(*age)));
  families.push_back(
      gauges("berth_backup_age_seconds",
             "Seconds since berthd last sent a complete backup archive; since the first "
             "start if it never did. On PostgreSQL, which has backups of its own, it is absent "
             "until then.",
             std::move(backup_age)));
  families.push_back(gauges(
      "berth_certificates_refused",
      "Custom domains for which the issuer has refused a certificate that was ordered within "
      "the last 24 hours.",
      {gauge(double(custom_domains::refused_certificates(tx)))}));
  add_points(families, tx);
  add_meter(families, tx);
}

// The metrics have no values if the isolation isn't probed.
void add_isolation(Families& families, const std::optional<Gauges::Isolation>& isolation) {
  std::vector<ClientMetric> proven;
  std::vector<ClientMetric> open;
  if (isolation) proven.push_back(gauge(isolation->proven ? 1 : 0));
  if (isolation && isolation->open_paths) open.push_back(gauge(*isolation->open_paths));
  families.push_back(gauges("berth_isolation_proven",
                            "1 if the isolation probe has lately found every forbidden path shut; "
                            "absent if nothing is probed.",
                            std::move(proven)));
  families.push_back(gauges("berth_isolation_open_paths",
                            "Forbidden paths of operators' containers that the newest isolation "
                            "probe found open; absent if there was none.",
                            std::move(open)));
}

void add_connections(Families& families, const api::ServerCounters& http) {
  families.push_back(gauges("http_open_connections", "Open connections of the API.",
                            {gauge(double(http.open_connections))}));
  families.push_back(gauges("http_running_handlers", "Requests that are being handled.",
                            {gauge(double(http.running_handlers))}));
  families.push_back(
      gauges("http_open_streams",
             "Answers that are being streamed: logs, events, chat and backup archives.",
             {gauge(double(http.open_streams))}));
  families.push_back(counters("http_refused_connections_total",
                              "Connections that were answered with 503 because a limit of "
                              "connections was reached.",
                              {counter(double(http.refused_connections))}));
  families.push_back(counters("http_displaced_connections_total",
                              "Connections that were closed to make room for others.",
                              {counter(double(http.displaced_connections))}));
}

void add_metering(Families& families, const reconcilers::MeteringLoop::Totals& totals) {
  const metering::Outcome& done = totals.done;
  std::vector<ClientMetric> outcomes;
  const auto add = [&](const char* outcome, auto count) {
    outcomes.push_back(counter(double(count), {{"outcome", outcome}}));
  };
  add("settled", done.settlements);
  add("warned", done.warned);
  add("suspended", done.suspended);
  add("stopped_by_budget", done.stopped_by_budget);
  add("told_of_budget", done.budgets_told);
  add("released", done.released);
  add("failed", totals.failed);
  families.push_back(counters("berth_meter_outcomes_total",
                              "What metering did: charges settled, owners warned, deployments "
                              "suspended, stopped by a budget or released again, marks of budgets "
                              "told, or apps that failed and are tried again.",
                              std::move(outcomes)));
  families.push_back(counters("berth_meter_unpaid_seconds_total",
                              "Seconds of metered containers that the platform bears, because a "
                              "budget or the balance left nothing to charge.",
                              {counter(double(done.unpaid_milliseconds) / 1000)}));
}

}  // namespace

Families Gauges::Collect() const {
  Families families = process_metrics();
  families.push_back(build());
  add_disk(families, sources_.data_dir);
  add_sizes(families, sources_);
  add_pools(families);
  add_commits(families, sources_.database);
  add_pool(families, sources_.postgres);
  add_replicas(families, sources_.replicas);
  if_reachable(sources_, [&] {
    const bool on_postgres = sources_.postgres != nullptr;
    Families rows;
    sources_.database.read([&](db::Tx& tx) { add_rows(rows, tx, on_postgres); });
    std::ranges::move(rows, std::back_inserter(families));
  });
  families.push_back(counters("berth_rewards_refused_total",
                              "Rewards that weren't paid because the treasury had too few points.",
                              {counter(double(rewards::refused_for_empty_treasury()))}));
  std::vector<ClientMetric> outcomes;
  for (const auto& [outcome, count] : sources_.billing())
    outcomes.push_back(counter(double(count), {{"outcome", outcome}}));
  families.push_back(counters("berth_billing_outcomes_total",
                              "What billing did with deployments: renewed, warned, suspended, "
                              "reactivated, or failed and tried again.",
                              std::move(outcomes)));
  add_metering(families, sources_.metering());
  std::vector<ClientMetric> minutes;
  for (const auto& [outcome, count] : sources_.crons())
    minutes.push_back(counter(double(count), {{"outcome", outcome}}));
  families.push_back(counters("berth_cron_minutes_total",
                              "Minutes for which crons were due, by what came of them: a run that "
                              "started, none because it was skipped, none because it was missed "
                              "for too long, or failed and tried again.",
                              std::move(minutes)));
  std::vector<ClientMetric> unusual;
  for (const auto& [rule, count] : sources_.anomalies())
    unusual.push_back(gauge(count, {{"rule", std::string(to_string(rule))}}));
  families.push_back(gauges("berth_money_anomalies",
                            "What is unusual about points, by rule (farming, sudden_outflow, "
                            "self_clicking); counted every ten minutes.",
                            std::move(unusual)));
  add_isolation(families, sources_.isolation());
  add_connections(families, sources_.http());
  return families;
}

}  // namespace berth
