#include "controller/domain/deployments/metering/meter.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "controller/db/enum_column.h"
#include "controller/domain/deployments/metering/day_rows.h"
#include "controller/domain/deployments/metering/prices.h"
#include "controller/domain/deployments/metering/settlement.h"

namespace berth::metering {
namespace {

// A run that ended so long ago and isn't known was recorded, and has been removed since. Less than
// what intervals are kept for, so that a clock that is set back doesn't have it charged twice.
constexpr Duration recorded_within = intervals_kept_for - std::chrono::days(1);

// What names a run: the pod, and how often its container was restarted before.
struct Name {
  std::string pod;
  std::int64_t restart = 0;
  auto operator<=>(const Name&) const = default;
};

Name parse_name(const std::string& name) {
  const size_t slash = name.rfind('/');
  Name parsed = {.pod = name.substr(0, slash)};
  const char* const end = name.data() + name.size();
  const bool has_number = slash != std::string::npos && slash > 0;
  const auto [stop, error] =
      std::from_chars(has_number ? name.data() + slash + 1 : end, end, parsed.restart);
  if (!has_number || error != std::errc() || stop != end || parsed.restart < 0)
    throw std::invalid_argument("a run is named by a pod, a slash and a number, not " + name);
  return parsed;
}

struct Known {
  Name name;
  std::string process;
  std::int64_t quantity = 1;
  Instant started_at;
  std::optional<Instant> ended_at;
  std::optional<Ending> ending;
  Instant counted_to;
};

const std::string select_known = R"(
    SELECT pod, restart, process, quantity, started_at, ended_at, ending, counted_to
    FROM meter_intervals
)";

Known known_of(const db::Query& row) {
  return {.name = {.pod = row.text("pod"), .restart = row.integer("restart")},
          .process = row.text("process"),
          .quantity = row.integer("quantity"),
          .started_at = row.instant("started_at"),
          .ended_at = row.instant_or_null("ended_at"),
          .ending = db::enum_or_null<Ending>(row, "ending"),
          .counted_to = row.instant("counted_to")};
}

std::vector<Known> open_of(db::Tx& tx, const std::string& deployment_id) {
  static const std::string sql = select_known + R"(WHERE deployment_id = $1 AND ended_at IS NULL)";
  std::vector<Known> open;
  auto rows = tx.query(sql, deployment_id);
  while (rows.next()) open.push_back(known_of(rows));
  return open;
}

std::optional<Known> find(db::Tx& tx, const Name& name) {
  static const std::string sql = select_known + R"(WHERE pod = $1 AND restart = $2)";
  auto rows = tx.query(sql, name.pod, name.restart);
  return rows.next() ? std::optional(known_of(rows)) : std::nullopt;
}

std::optional<Known> newest_of_pod(db::Tx& tx, const std::string& pod) {
  static const std::string sql = select_known + R"(WHERE pod = $1 ORDER BY restart DESC LIMIT 1)";
  auto rows = tx.query(sql, pod);
  return rows.next() ? std::optional(known_of(rows)) : std::nullopt;
}

// The deployment as far as the meter has to know it.
struct Metered {
  std::string id;
  std::string app_id;
  std::string tier_id;
  Instant created_at;
  std::optional<Instant> metered_from;
  bool may_have_price = false;  // its tier has, or had, one
};

std::optional<Metered> metered(db::Tx& tx, const std::string& deployment_id) {
  auto row = tx.query(R"(
      SELECT d.app_id, d.tier_id, d.inserted_at, b.metered_from,
             CASE WHEN EXISTS (SELECT 1 FROM tier_prices p WHERE p.tier_id = d.tier_id)
                  THEN 1 ELSE 0 END AS may_have_price
      FROM deployments d
      LEFT JOIN deployment_billing b ON b.deployment_id = d.id
      WHERE d.id = $1)",
                      deployment_id);
  if (!row.next()) return std::nullopt;
  return Metered{.id = deployment_id,
                 .app_id = row.text("app_id"),
                 .tier_id = row.text("tier_id"),
                 .created_at = row.instant("inserted_at"),
                 .metered_from = row.instant_or_null("metered_from"),
                 .may_have_price = row.flag("may_have_price")};
}

// What has to be changed so that the meter has what the cluster says.
struct Plan {
  std::vector<Known> opened;
  std::vector<Known> changed;  // that were closed, or are open again
  Recorded recorded;
};

class Planner {
 public:
  Planner(db::Tx& tx, const Metered& deployment, const std::optional<Instant>& vanished_at)
      : tx_(tx), deployment_(deployment), vanished_at_(vanished_at), latest_(tx.now() + max_skew) {
    for (Known& known : open_of(tx, deployment.id)) open_.emplace(known.name, std::move(known));
    if (!deployment.may_have_price) return;
    const auto since = Prices(tx).metered_since(deployment.tier_id, utc_day(tx.now()));
    if (since)
      metered_from_ = std::max(start_of_day(*since), deployment.metered_from.value_or(Instant()));
  }
  bool has_nothing_to_do() const { return !metered_from_ && open_.empty(); }

  Plan plan(const std::vector<Run>& runs) {
    Named named;
    for (const Run& run : runs) named.emplace(parse_name(run.name), &run);
    for (const auto& [name, run] : newest_of(named)) look_at(name, *run);
    if (vanished_at_) close_all_but(named);
    return std::move(plan_);
  }

 private:
  using Named = std::map<Name, const Run*>;

  // Those that run, or ran until now for the meter, and those that ended last; at most
  // max_runs_at_once.
  Named newest_of(const Named& named) const {
    if (named.size() <= max_runs_at_once) return named;
    std::vector<std::pair<Name, const Run*>> all(named.begin(), named.end());
    const auto end_of = [&](const auto& one) {
      return open_.contains(one.first) ? Instant::max()
                                       : one.second->ended_at.value_or(Instant::max());
    };
    std::ranges::partial_sort(all, all.begin() + max_runs_at_once, std::ranges::greater(), end_of);
    return Named(all.begin(), all.begin() + max_runs_at_once);
  }

  void look_at(const Name& name, const Run& run) {
    std::optional<Known> known;
    if (const auto open = open_.find(name); open != open_.end())
      known = open->second;
    else
      known = find(tx_, name);
    if (known)
      continue_run(std::move(*known), run);
    else if (metered_from_)
      open_run(name, run);
  }

  void continue_run(Known known, const Run& run) {
    const bool is_back =
        known.ending == Ending::vanished && (!run.ended_at || *run.ended_at > *known.ended_at);
    if (known.ended_at && !is_back) return;
    if (!is_back && !run.ended_at) return;
    // What vanished and is there again has run all the time.
    if (is_back) ++plan_.recorded.opened;
    known.ended_at.reset();
    known.ending.reset();
    if (run.ended_at) end(known, *run.ended_at, Ending::finished);
    open_.erase(known.name);
    plan_.changed.push_back(std::move(known));
  }

  void open_run(const Name& name, const Run& run) {
    const std::optional<Known> before = newest(name.pod);
    // An earlier run of a pod is never reported first. One that is unknown beside a later one was
    // removed because it is old, or was counted as missed.
    if (before && before->name.restart > name.restart) return;
    Known known;
    known.name = name;
    known.process = run.process;
    known.started_at = run.started_at;
    if (before) {
      plan_.recorded.missed += int(name.restart - before->name.restart - 1);
      if (!before->ended_at) end_before(*before, known.started_at);
      if (before->ended_at) cut_to_at_least(known.started_at, *before->ended_at);
    }
    cut_to_at_least(known.started_at, deployment_.created_at);
    cut_to_at_most(known.started_at);
    known.counted_to = std::max(known.started_at, *metered_from_);
    if (run.ended_at) {
      // It cost nothing, or was recorded and removed.
      if (*run.ended_at <= *metered_from_ && known.started_at < *metered_from_) return;
      if (*run.ended_at <= tx_.now() - recorded_within) return;
      end(known, *run.ended_at, Ending::finished);
    }
    ++plan_.recorded.opened;
    newest_[name.pod] = known;
    plan_.opened.push_back(std::move(known));
  }

  std::optional<Known> newest(const std::string& pod) {
    if (const auto planned = newest_.find(pod); planned != newest_.end()) return planned->second;
    auto found = newest_of_pod(tx_, pod);
    if (!found) return std::nullopt;
    // It may have been closed by this plan.
    for (const Known& changed : plan_.changed)
      if (changed.name == found->name) return changed;
    return found;
  }

  // A container of a pod runs after the one before it. Nobody has said when that one ended: it was
  // seen last at vanished_at_.
  void end_before(const Known& before, Instant next_start) {
    const auto open = open_.find(before.name);
    if (open == open_.end()) return;
    Known ended = std::move(open->second);
    open_.erase(open);
    ended.ended_at =
        std::max(std::min(vanished_at_.value_or(next_start), next_start), ended.started_at);
    ended.ending = Ending::vanished;
    ++plan_.recorded.vanished;
    plan_.changed.push_back(std::move(ended));
  }

  void close_all_but(const Named& named) {
    for (auto& [name, known] : open_) {
      if (named.contains(name)) continue;
      known.ended_at = std::max(std::min(*vanished_at_, tx_.now()), known.started_at);
      known.ending = Ending::vanished;
      ++plan_.recorded.vanished;
      plan_.changed.push_back(std::move(known));
    }
  }

  void end(Known& known, Instant at, Ending ending) {
    cut_to_at_most(at);
    cut_to_at_least(at, known.started_at);
    known.ended_at = at;
    known.ending = ending;
    ++plan_.recorded.closed;
  }

  // Runtimes name whole seconds, so a run may seem to begin before what it follows.
  void cut_to_at_least(Instant& at, Instant first) {
    if (at >= first) return;
    if (first - at > resolution) ++plan_.recorded.skewed;
    at = first;
  }
  void cut_to_at_most(Instant& at) {
    if (at <= latest_) return;
    at = tx_.now();
    ++plan_.recorded.skewed;
  }

  db::Tx& tx_;
  const Metered& deployment_;
  const std::optional<Instant> vanished_at_;
  const Instant latest_;
  std::optional<Instant> metered_from_;  // nothing if new runs aren't recorded
  std::map<Name, Known> open_;           // the intervals that are open and not in the plan
  std::map<std::string, Known> newest_;  // by pod: of those that the plan opens
  Plan plan_;
};

std::optional<Plan> plan_of(db::Tx& tx, const Metered& deployment, const std::vector<Run>& runs,
                            const std::optional<Instant>& vanished_at) {
  Planner planner(tx, deployment, vanished_at);
  if (planner.has_nothing_to_do()) return std::nullopt;
  return planner.plan(runs);
}

// Adds to meter_days what the run had from counted_to to `until`, and moves counted_to there.
void count(db::Tx& tx, const Metered& deployment, const Prices& prices, Known& known,
           Instant until) {
  for (const Piece& piece : pieces(prices, deployment.tier_id, known.counted_to, until))
    add_to_day(tx, {.deployment_id = deployment.id,
                    .app_id = deployment.app_id,
                    .day = piece.day,
                    .process = known.process,
                    .milliseconds = piece.milliseconds * known.quantity,
                    .units = units_of(piece.milliseconds * known.quantity, piece.price)});
  known.counted_to = std::max(known.counted_to, until);
}

void insert(db::Tx& tx, const std::string& deployment_id, const Known& known) {
  tx.execute(R"(
      INSERT INTO meter_intervals
        (pod, restart, deployment_id, process, item, quantity, started_at, ended_at, ending,
         counted_to)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10))",
             known.name.pod, known.name.restart, deployment_id, known.process,
             to_string(Item::base), known.quantity, known.started_at, known.ended_at,
             to_string(known.ending), known.counted_to);
}

void store(db::Tx& tx, const Known& known) {
  tx.execute(R"(
      UPDATE meter_intervals
      SET ended_at = $3, ending = $4, counted_to = $5
      WHERE pod = $1 AND restart = $2)",
             known.name.pod, known.name.restart, known.ended_at, to_string(known.ending),
             known.counted_to);
}

// The loop has to look at the app: it has used something, or needs another hold.
void wake(db::Tx& tx, const std::string& app_id) {
  tx.execute(R"(
      INSERT INTO meter_apps (app_id)
      VALUES ($1)
      ON CONFLICT (app_id) DO NOTHING)",
             app_id);
  look_at(tx, app_id);
}

}  // namespace

Recorded record(db::Tx& tx, const std::string& deployment_id, const std::vector<Run>& runs,
                const std::optional<Instant>& vanished_at) {
  tx.require_serializable();
  const auto deployment = metered(tx, deployment_id);
  if (!deployment) return {};
  auto plan = plan_of(tx, *deployment, runs, vanished_at);
  if (!plan || (plan->opened.empty() && plan->changed.empty())) return {};
  const Prices prices(tx);
  for (Known& known : plan->changed) {
    if (known.ended_at) count(tx, *deployment, prices, known, *known.ended_at);
    store(tx, known);
  }
  for (Known& known : plan->opened) {
    if (known.ended_at) count(tx, *deployment, prices, known, *known.ended_at);
    insert(tx, deployment_id, known);
  }
  wake(tx, deployment->app_id);
  return plan->recorded;
}

bool would_change(db::Tx& tx, const std::string& deployment_id, const std::vector<Run>& runs,
                  const std::optional<Instant>& vanished_at) {
  const auto deployment = metered(tx, deployment_id);
  if (!deployment) return false;
  const auto plan = plan_of(tx, *deployment, runs, vanished_at);
  return plan && (!plan->opened.empty() || !plan->changed.empty());
}

void set_watched_until(db::Tx& tx, Instant at) {
  tx.execute(R"(
      INSERT INTO meter_watch (one, watched_until)
      VALUES (1, $1)
      ON CONFLICT (one) DO UPDATE SET watched_until = excluded.watched_until
      WHERE meter_watch.watched_until < excluded.watched_until)",
             at);
}

Instant watched_until(db::Tx& tx) {
  return from_millis(tx.number(R"(SELECT watched_until FROM meter_watch WHERE one = 1)"));
}

std::vector<std::string> deployments_with_open(db::Tx& tx) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(
      SELECT DISTINCT deployment_id
      FROM meter_intervals
      WHERE ended_at IS NULL
      ORDER BY deployment_id)");
  while (rows.next()) ids.push_back(rows.text("deployment_id"));
  return ids;
}

std::int64_t open_runs(db::Tx& tx) {
  return tx.number(R"(SELECT count(*) AS open FROM meter_intervals WHERE ended_at IS NULL)");
}

std::vector<DayUse> uses(db::Tx& tx, const std::string& deployment_id, std::int64_t first,
                         std::int64_t last) {
  if (last - first >= max_use_days) throw std::logic_error("too many days of use are asked for");
  std::map<std::pair<std::int64_t, std::string>, DayUse> days;
  {
    auto rows = tx.query(R"(
        SELECT day, process, item, milliseconds, points, pending_milliseconds, unpaid_milliseconds
        FROM meter_days
        WHERE deployment_id = $1 AND day BETWEEN $2 AND $3)",
                         deployment_id, first, last);
    while (rows.next()) {
      DayUse use = {.deployment_id = deployment_id,
                    .day = rows.integer("day"),
                    .process = rows.text("process"),
                    .item = db::enum_of<Item>(rows, "item"),
                    .milliseconds = rows.integer("milliseconds"),
                    .points = rows.integer("points"),
                    .pending_milliseconds = rows.integer("pending_milliseconds"),
                    .unpaid_milliseconds = rows.integer("unpaid_milliseconds")};
      days.emplace(std::pair(use.day, use.process), std::move(use));
    }
  }
  // What runs is counted later, but has been used.
  if (const auto deployment = metered(tx, deployment_id)) {
    const Prices prices(tx);
    for (const Known& known : open_of(tx, deployment_id))
      for (const Piece& piece : pieces(prices, deployment->tier_id, known.counted_to, tx.now())) {
        if (piece.day < first || piece.day > last) continue;
        DayUse& use =
            days.try_emplace({piece.day, known.process}, DayUse{.deployment_id = deployment_id,
                                                                .day = piece.day,
                                                                .process = known.process})
                .first->second;
        use.milliseconds += piece.milliseconds * known.quantity;
        use.pending_milliseconds += piece.milliseconds * known.quantity;
      }
  }
  std::vector<DayUse> all;
  all.reserve(days.size());
  for (auto& [key, use] : days) all.push_back(std::move(use));
  return all;
}

void tier_changes(db::Tx& tx, const std::string& deployment_id) {
  tx.require_serializable();
  const auto deployment = metered(tx, deployment_id);
  if (!deployment) return;
  const Prices prices(tx);
  for (Known& known : open_of(tx, deployment_id)) {
    count(tx, *deployment, prices, known, tx.now());
    store(tx, known);
  }
  tx.execute(R"(UPDATE deployment_billing SET metered_from = $2 WHERE deployment_id = $1)",
             deployment_id, tx.now());
}

namespace {

void count_to(db::Tx& tx, const std::string& app_id, Instant to) {
  std::set<std::string> ids;
  {
    auto rows = tx.query(R"(
        SELECT i.deployment_id
        FROM deployments d
        JOIN meter_intervals i ON i.deployment_id = d.id
        WHERE d.app_id = $1 AND d.removed_at IS NULL AND i.ended_at IS NULL
          AND i.counted_to < $2)",
                         app_id, to);
    while (rows.next()) ids.insert(rows.text("deployment_id"));
  }
  if (ids.empty()) return;
  const Prices prices(tx);
  for (const std::string& id : ids) {
    const auto deployment = metered(tx, id);
    for (Known& known : open_of(tx, id)) {
      if (known.counted_to >= to) continue;
      count(tx, *deployment, prices, known, to);
      store(tx, known);
    }
  }
}

}  // namespace

void count_open(db::Tx& tx, const std::string& app_id, Instant until) {
  count_to(tx, app_id, std::min(until, watched_until(tx) - watch_lag));
}

void count_until_now(db::Tx& tx, const std::string& app_id) { count_to(tx, app_id, tx.now()); }

int remove_old_intervals(db::Tx& tx, int most) {
  return tx.execute(R"(
      DELETE FROM meter_intervals
      WHERE (pod, restart) IN (SELECT pod, restart
                               FROM meter_intervals
                               WHERE ended_at IS NOT NULL AND ended_at <= $1
                               LIMIT $2))",
                    tx.now() - intervals_kept_for, most);
}

OldDays find_old_days(db::Tx& tx, const std::string& after, int most) {
  auto rows = tx.query(R"(
      SELECT d.id,
             CASE WHEN EXISTS (SELECT 1
                               FROM meter_days m
                               WHERE m.deployment_id = d.id AND m.day < $3
                                 AND m.pending_milliseconds = 0)
                  THEN 1 ELSE 0 END AS has_old
      FROM deployments d
      WHERE d.id > $1
      ORDER BY d.id
      LIMIT $2)",
                       after, most, utc_day(tx.now()) - days_kept);
  OldDays found;
  int looked = 0;
  for (; rows.next(); ++looked) {
    found.last = rows.text("id");
    if (rows.flag("has_old")) found.deployments.push_back(found.last);
  }
  if (looked < most) found.last.clear();
  return found;
}

int remove_old_days(db::Tx& tx, const std::vector<std::string>& deployment_ids) {
  int removed = 0;
  for (const std::string& id : deployment_ids)
    removed += tx.execute(R"(
        DELETE FROM meter_days
        WHERE deployment_id = $1 AND day < $2 AND pending_milliseconds = 0)",
                          id, utc_day(tx.now()) - days_kept);
  return removed;
}

}  // namespace berth::metering
