#include "controller/domain/deployments/metering/settlement.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "controller/base/error.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/metering/app_state.h"
#include "controller/domain/deployments/metering/mail.h"
#include "controller/domain/deployments/metering/meter.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::metering {
namespace {

using billing::StoppedFor;

// An app that was looked at isn't due again before this time, so that the loop never turns in
// circles.
constexpr Duration soonest = std::chrono::seconds(1);
// When an app is looked at after midnight: the ends of the day have been seen by then.
constexpr Duration after_midnight = watch_lag + watch_interval + std::chrono::seconds(1);
// While nobody sees the cluster, a day that has ended waits to be settled.
constexpr Duration unseen_again = std::chrono::minutes(1);

// The event of a charge names so many of its lines.
constexpr size_t most_lines_told = 20;

std::int64_t seconds_of(std::int64_t milliseconds) { return (milliseconds + 999) / 1000; }

std::int64_t rounded_up(std::int64_t units) {
  return units / units_of_point + (units % units_of_point > 0 ? 1 : 0);
}

// ---- Charges ------------------------------------------------------------------------------------

// Charges lines to the app, a transaction of the ledger for each day.
class Settlement {
 public:
  Settlement(db::Tx& tx, AppState& app, BudgetBook& book) : tx_(tx), app_(app), book_(book) {}

  // Needs lines in the order of their days. Of the present day, nothing is written if it would be
  // less than a point.
  void settle(const std::vector<Line>& lines, Outcome& outcome) {
    for (auto line = lines.begin(); line != lines.end();) {
      const auto end =
          std::find_if(line, lines.end(), [&](const Line& l) { return l.day != line->day; });
      settle_day(line->day, {line, end}, outcome);
      line = end;
    }
  }

 private:
  struct Part {
    std::int64_t points = 0;
    std::int64_t unpaid_milliseconds = 0;
  };

  void settle_day(std::int64_t day, const std::vector<Line>& lines, Outcome& outcome) {
    std::int64_t units = 0;
    for (const Line& line : lines) units += line.units;
    if (day == app_.today && app_.remainder + units < units_of_point) return;
    std::int64_t points = 0, unpaid_milliseconds = 0;
    nlohmann::json told = nlohmann::json::array();
    for (const Line& line : lines) {
      const Part part = settle_line_of(line, app_.balance - points);
      points += part.points;
      unpaid_milliseconds += part.unpaid_milliseconds;
      if (told.size() < most_lines_told) told.push_back(told_of(line, part));
    }
    app_.balance -= points;
    std::erase_if(app_.lines, [&](const Line& line) {
      return std::ranges::any_of(lines, [&](const Line& settled) {
        return settled.deployment_id == line.deployment_id && settled.day == line.day &&
               settled.process == line.process;
      });
    });
    outcome.points += points;
    outcome.unpaid_milliseconds += unpaid_milliseconds;
    if (points == 0 && unpaid_milliseconds == 0) return;
    nlohmann::json transaction;  // null if nothing is charged
    if (points > 0) transaction = post(day, points, outcome);
    webhooks::emit(tx_, app_.app_id, "charge.settled", app_.app_id,
                   {{"day", utc_date(day)},
                    {"transaction_id", transaction},
                    {"points", points},
                    {"unpaid_seconds", seconds_of(unpaid_milliseconds)},
                    {"balance", app_.balance},
                    {"lines", told},
                    {"more_lines", lines.size() - told.size()}});
  }

  static nlohmann::json told_of(const Line& line, const Part& part) {
    return {{"deployment_id", line.deployment_id},
            {"process", line.process},
            {"item", to_string(Item::base)},
            {"seconds", seconds_of(line.milliseconds)},
            {"points", part.points},
            {"unpaid_seconds", seconds_of(part.unpaid_milliseconds)}};
  }

  Part settle_line_of(const Line& line, std::int64_t balance) {
    const std::int64_t limit = std::min(balance, book_.room(line.deployment_id, line.day));
    const Charge charged = charge(app_.remainder, line.units, limit);
    app_.remainder = charged.remainder;
    // Rounded up, so that time that wasn't charged is never said to be paid.
    const auto unpaid_milliseconds = std::int64_t(
        charged.unpaid_units == 0
            ? Wide(0)
            : (Wide(line.milliseconds) * charged.unpaid_units + line.units - 1) / line.units);
    book_.add(line.deployment_id, line.day, charged.points);
    settle_line(tx_, line, charged.points, unpaid_milliseconds);
    return {.points = charged.points, .unpaid_milliseconds = unpaid_milliseconds};
  }

  // The points were held, so the hold gives way first. Returns the id of the transaction.
  std::string post(std::int64_t day, std::int64_t points, Outcome& outcome) {
    const ledger::Account account = ledger::app_account(app_.app_id);
    app_.held = std::max<std::int64_t>(app_.held - points, 0);
    if (!ledger::set_held(tx_, account, app_.held))
      throw std::logic_error("a hold couldn't be lowered");
    ledger::open_account(tx_, ledger::treasury());
    const auto transaction =
        ledger::post(tx_, {.kind = "metering",
                           .from = account,
                           .to = ledger::treasury(),
                           .amount = points,
                           .memo = "what ran by the hour on " + utc_date(day)});
    if (!transaction) throw std::logic_error("points that were held couldn't be charged");
    tx_.execute(R"(
        INSERT INTO meter_settlements (app_id, day, transaction_id, points)
        VALUES ($1, $2, $3, $4))",
                app_.app_id, day, *transaction, points);
    ++outcome.settlements;
    return *transaction;
  }

  db::Tx& tx_;
  AppState& app_;
  BudgetBook& book_;
};

// What is to be charged now: days that have ended, and what deployments used that have stopped.
std::vector<Line> lines_to_settle(const AppState& app) {
  std::set<std::string> running;
  for (const ToRun& deployment : app.to_run) running.insert(deployment.deployment_id);
  for (const OpenRun& run : app.open) running.insert(run.deployment_id);
  std::vector<Line> lines;
  for (const Line& line : app.lines)
    if (line.day < app.today || !running.contains(line.deployment_id)) lines.push_back(line);
  return lines;
}

// ---- Holds --------------------------------------------------------------------------------------

// What has to be held for what is used, and for the next hour. If nothing goes on, the rest of a
// point is only carried, and holding a point for it would hold it for good.
std::int64_t target_of(const Spending& spending) {
  const std::int64_t used =
      spending.rate() > 0 ? rounded_up(spending.units()) : spending.units() / units_of_point;
  const Wide target = Wide(used) + spending.rate();
  return std::int64_t(std::min<Wide>(target, ledger::max_points));
}

// The points an hour of what is to run tomorrow.
std::int64_t rate_tomorrow(const AppState& app) {
  const auto price = [&](const std::string& tier_id) {
    return app.prices.on(tier_id, app.today + 1).value_or(0);
  };
  std::int64_t rate = 0;
  for (const ToRun& deployment : app.to_run)
    rate += price(deployment.tier_id) * deployment.containers;
  for (const RunsUnderWay& runs : app.runs) rate += price(runs.tier_id) * runs.count;
  return rate;
}

// When the points run out; nothing if they last for longer than `longest`.
std::optional<Instant> end_of_points(const AppState& app, const Spending& spending) {
  const std::int64_t later = rate_tomorrow(app);
  const Wide left = std::max<Wide>(units_in(app.balance) - spending.units(), 0);
  const Instant midnight = start_of_day(app.today + 1);
  const Wide until_midnight = Wide((midnight - app.now).count()) * spending.rate();
  if (spending.rate() > 0 && left <= until_midnight)
    return app.now + time_of(left, spending.rate());
  if (later == 0) return std::nullopt;
  const Duration time = time_of(left - until_midnight, later);
  return time < longest ? std::optional(midnight + time) : std::nullopt;
}

// ---- One look at an app -------------------------------------------------------------------------

class Look {
 public:
  Look(db::Tx& tx, AppState app, const std::string& data_key)
      : tx_(tx), app_(std::move(app)), book_(tx, app_.app_id), data_key_(data_key) {}

  Outcome run() {
    Settlement(tx_, app_, book_).settle(lines_to_settle(app_), outcome_);
    app_.due_at.reset();
    forget_budgets_of_destroyed();
    look_at_budgets();
    const Spending spending(app_, book_);
    renew_hold(spending);
    warn(spending);
    release();
    for (const BudgetRow& budget : book_.budgets()) be_due_at_next_mark(spending, budget);
    be_due_after_midnight(spending);
    store(tx_, app_);
    return outcome_;
  }

 private:
  void be_due(Instant at) {
    at = std::max(at, app_.now + soonest);
    app_.due_at = app_.due_at ? std::min(*app_.due_at, at) : at;
  }
  void be_due_in(Duration time) {
    if (time < longest) be_due(app_.now + time);
  }

  // Suspends what runs and for which `is_meant` holds. Returns how many deployments those were.
  template <typename IsMeant>
  int suspend(StoppedFor why, const nlohmann::json& details, IsMeant&& is_meant) {
    int suspended = 0;
    std::erase_if(app_.to_run, [&](const ToRun& deployment) {
      if (!is_meant(deployment)) return false;
      billing::suspend_metered(tx_, deployment.deployment_id, why, app_.price_of(deployment),
                               details);
      ++suspended;
      return true;
    });
    return suspended;
  }

  // ---- Budgets

  // The budgets of destroyed deployments hold until the last of what they used is charged.
  void forget_budgets_of_destroyed() {
    std::erase_if(book_.budgets(), [&](const BudgetRow& budget) {
      const auto is_its = [&](const auto& one) {
        return one.deployment_id == budget.deployment_id;
      };
      if (!budget.is_of_destroyed || std::ranges::any_of(app_.lines, is_its) ||
          std::ranges::any_of(app_.open, is_its))
        return false;
      remove_budgets_of_deployment(tx_, app_.app_id, budget.deployment_id);
      return true;
    });
  }

  void look_at_budgets() {
    const Spending spending(app_, book_);
    for (BudgetRow& budget : book_.budgets()) {
      const std::int64_t spent = spending.spent(budget);
      const int mark = mark_of(spent, budget.limit);
      tell(budget, spent, mark);
      if (mark == 100) stop_for(budget);
    }
  }

  void tell(BudgetRow& budget, std::int64_t spent, int mark) {
    if (mark == budget.told) return;
    const bool is_news = mark > budget.told;
    budget.told = mark;
    if (mark < 100)
      budget.reached_at.reset();
    else if (!budget.reached_at)
      budget.reached_at = app_.now;
    store_told(tx_, app_.app_id, budget);
    if (!is_news) return;
    ++outcome_.budgets_told;
    const std::string& deployment = budget.deployment_id;
    webhooks::emit(
        tx_, app_.app_id, "budget.reached", deployment.empty() ? app_.app_id : deployment,
        {{"deployment_id", deployment.empty() ? nlohmann::json() : nlohmann::json(deployment)},
         {"period", to_string(budget.period)},
         {"limit", budget.limit},
         {"spent", spent},
         {"percent", mark},
         {"at_limit", to_string(budget.at_limit)}});
    mail_budget(tx_, app_, budget, spent, mark, data_key_);
  }

  void stop_for(const BudgetRow& budget) {
    const nlohmann::json details = {{"reason", "budget_reached"},
                                    {"period", to_string(budget.period)},
                                    {"limit", budget.limit},
                                    {"scope", budget.deployment_id.empty() ? "app" : "deployment"}};
    outcome_.stopped_by_budget +=
        suspend(StoppedFor::budget, details, [&](const ToRun& deployment) {
          return budget.stops(deployment.deployment_id, app_.price_of(deployment.tier_id));
        });
  }

  void be_due_at_next_mark(const Spending& spending, const BudgetRow& budget) {
    for (const int mark : marks)
      if (mark > budget.told) return be_due_in(spending.until(budget, points_of(mark, budget)));
  }

  // Deployments that a budget has stopped and none stops any more. Billing's loop starts them.
  void release() {
    std::vector<std::string> stopped;
    {
      auto rows = tx_.query(R"(
          SELECT d.id, d.tier_id
          FROM deployments d
          JOIN deployment_billing b ON b.deployment_id = d.id
          WHERE d.app_id = $1
            AND d.billing_status = 'suspended'
            AND d.status <> 'destroyed'
            AND d.suspended_at IS NULL
            AND b.stopped_for = 'budget')",
                            app_.app_id);
      while (rows.next())
        if (!is_stopped(rows.text("id"), app_.price_of(rows.text("tier_id"))))
          stopped.push_back(rows.text("id"));
    }
    for (const std::string& id : stopped) billing::look_at(tx_, id);
    outcome_.released += int(stopped.size());
  }

  bool is_stopped(const std::string& deployment_id, std::int64_t price) const {
    return std::ranges::any_of(book_.budgets(), [&](const BudgetRow& budget) {
      return budget.told == 100 && budget.stops(deployment_id, price);
    });
  }

  // ---- Points

  void renew_hold(const Spending& spending) {
    const std::int64_t rate = spending.rate();
    if (rate > 0 && units_in(app_.balance) <= spending.units()) return run_out();
    const std::int64_t target = target_of(spending);
    const Wide spare = units_in(app_.held) - spending.units();
    if (app_.held > target || spare <= Wide(rate) * renewed_before.count())
      hold(std::min(target, app_.balance));
    if (rate == 0) return;
    const Wide left = units_in(app_.held) - spending.units();
    const bool is_last = app_.held < target && app_.held == app_.balance;
    const Wide until = is_last ? left : left - Wide(rate) * renewed_before.count();
    be_due_in(time_of(until, rate));
  }

  void hold(std::int64_t points) {
    if (points == app_.held) return;
    if (!ledger::set_held(tx_, ledger::app_account(app_.app_id), points))
      throw std::logic_error("the app has fewer points than its balance says");
    app_.held = points;
  }

  // What has run so far stays held, and is charged when the last container has ended.
  void run_out() {
    hold(app_.balance);
    const int suspended =
        suspend(StoppedFor::points, {{"reason", "insufficient_balance"}, {"balance", app_.balance}},
                [&](const ToRun& deployment) { return app_.price_of(deployment.tier_id) > 0; });
    outcome_.suspended += suspended;
    if (suspended > 0) mail_stopped(tx_, app_, data_key_);
  }

  void warn(const Spending& spending) {
    const auto end = end_of_points(app_, spending);
    if (!end || *end - app_.now > warning_withdrawn) app_.warned_at.reset();
    if (!end || app_.to_run.empty()) return;
    if (*end - app_.now > warning_before) return be_due(*end - warning_before);
    if (app_.warned_at || *end <= app_.now) return;
    app_.warned_at = app_.now;
    ++outcome_.warned;
    const std::int64_t rate = spending.rate() > 0 ? spending.rate() : rate_tomorrow(app_);
    for (const ToRun& deployment : app_.to_run)
      if (app_.prices.is_metered(deployment.tier_id, app_.today))
        billing::log_warning(tx_, deployment.deployment_id,
                             {{"reason", "insufficient_balance"},
                              {"balance", app_.balance},
                              {"stops_at", to_iso8601(*end)}});
    webhooks::emit(
        tx_, app_.app_id, "balance.low", app_.app_id,
        {{"deployment_id", nullptr},
         {"balance", app_.balance},
         {"held", app_.held},
         {"points_per_hour", rate},
         {"hours_left", std::chrono::floor<std::chrono::hours>(*end - app_.now).count()}});
    mail_low(tx_, app_, rate, *end, data_key_);
  }

  // ---- When to look again

  void be_due_after_midnight(const Spending& spending) {
    const Instant today = start_of_day(app_.today);
    const bool is_uncounted =
        std::ranges::any_of(app_.open, [&](const OpenRun& run) { return run.counted_to < today; });
    if (is_uncounted) be_due(app_.now + unseen_again);
    const bool is_anything = spending.rate() > 0 || !app_.lines.empty() || !app_.open.empty() ||
                             !book_.is_empty() ||
                             std::ranges::any_of(app_.to_run, [&](const ToRun& deployment) {
                               return app_.prices.is_metered(deployment.tier_id, app_.today);
                             });
    if (is_anything) be_due(start_of_day(app_.today + 1) + after_midnight);
  }

  db::Tx& tx_;
  AppState app_;
  BudgetBook book_;
  const std::string& data_key_;
  Outcome outcome_;
};

// ---- Admission ----------------------------------------------------------------------------------

struct Refused {
  StoppedFor why = StoppedFor::points;
  std::int64_t points = 0;  // that are missing altogether
  std::string words;
};

std::string words_of(const BudgetRow& budget, std::int64_t left, std::int64_t points_due) {
  const std::string name =
      std::string(budget.deployment_id.empty() ? "the app's" : "the deployment's") + " budget of " +
      std::to_string(budget.limit) + " points for " +
      (budget.period == BudgetPeriod::day ? "a day" : "30 days");
  if (left <= 0) return name + " is spent";
  return name + " leaves " + std::to_string(left) + " points, and " + std::to_string(points_due) +
         " would be charged";
}

std::optional<Refused> refused_by_budget(const AppState& app, const BudgetBook& book,
                                         const ToRun& deployment, std::int64_t points_due) {
  const Spending spending(app, book);
  const std::int64_t price = app.price_of(deployment.tier_id);
  for (const BudgetRow& budget : book.budgets()) {
    if (!budget.applies_to(deployment.deployment_id)) continue;
    const std::int64_t left = budget.limit - spending.spent(budget);
    const bool is_stopped = left <= 0 && budget.stops(deployment.deployment_id, price);
    if (is_stopped || (points_due > 0 && points_due > left))
      return Refused{.why = StoppedFor::budget,
                     .points = points_due,
                     .words = words_of(budget, left, points_due)};
  }
  return std::nullopt;
}

// What is to start.
enum class Wanted {
  deployment,  // all of its containers
  run          // one container of its own, for a command
};

void add(AppState& app, const ToRun& deployment, Wanted wanted) {
  const auto is_its = [&](const auto& other) {
    return other.deployment_id == deployment.deployment_id;
  };
  if (wanted == Wanted::run)
    app.runs.push_back(
        {.deployment_id = deployment.deployment_id, .tier_id = deployment.tier_id, .count = 1});
  else if (std::ranges::none_of(app.to_run, is_its))
    app.to_run.push_back(deployment);
}

std::optional<Refused> admitted(db::Tx& tx, const std::string& deployment_id,
                                std::int64_t points_due, Wanted wanted) {
  auto row =
      tx.query(R"(SELECT app_id, name, tier_id, most_containers FROM deployments WHERE id = $1)",
               deployment_id);
  if (!row.next()) return std::nullopt;
  const std::string app_id = row.text("app_id");
  const ToRun deployment = {.deployment_id = deployment_id,
                            .name = row.text("name"),
                            .tier_id = row.text("tier_id"),
                            .containers = row.integer("most_containers")};
  const bool is_metered = Prices(tx).is_metered(deployment.tier_id, utc_day(tx.now()));
  if (!is_metered && BudgetBook(tx, app_id).is_empty()) return std::nullopt;
  // Others may have changed the app until its row is locked.
  open_and_lock(tx, app_id);
  const BudgetBook book(tx, app_id);
  AppState app = *load(tx, app_id);
  if (auto refused = refused_by_budget(app, book, deployment, points_due)) return refused;
  add(app, deployment, wanted);
  const std::int64_t target = std::max(target_of(Spending(app, book)), app.held);
  const std::int64_t price =
      wanted == Wanted::run ? app.price_of(deployment.tier_id) : app.price_of(deployment);
  if (price > 0) {
    if (Wide(target) + points_due > app.balance)
      return Refused{
          .points = points_due + price,
          .words = "the app's balance of " + std::to_string(app.balance) +
                   " points is lower than the " + std::to_string(target) +
                   " points that have to be held for what runs by the hour, an hour ahead" +
                   (points_due > 0 ? ", and " + std::to_string(points_due) + " points for 30 days"
                                   : "")};
    if (!ledger::set_held(tx, ledger::app_account(app_id), target))
      throw db::Overtaken("the app's points were spent meanwhile");
  }
  look_at(tx, app_id);
  return std::nullopt;
}

}  // namespace

void Outcome::add(const Outcome& other) {
  settlements += other.settlements;
  points += other.points;
  unpaid_milliseconds += other.unpaid_milliseconds;
  warned += other.warned;
  suspended += other.suspended;
  stopped_by_budget += other.stopped_by_budget;
  budgets_told += other.budgets_told;
  released += other.released;
}

Account account(db::Tx& tx, const std::string& app_id) {
  const auto app = load(tx, app_id);
  if (!app) {
    Account without;
    without.balance = ledger::balance(tx, ledger::app_account(app_id));
    return without;
  }
  const BudgetBook book(tx, app_id);
  const Spending spending(*app, book);
  return {.balance = app->balance,
          .held = app->held,
          .accrued = spending.units() / units_of_point,
          .points_per_hour = spending.rate(),
          .lasts_until = end_of_points(*app, spending),
          .warned_at = app->warned_at};
}

namespace {

void admit(db::Tx& tx, const std::string& deployment_id, std::int64_t points_due, Wanted wanted) {
  const auto refused = admitted(tx, deployment_id, points_due, wanted);
  if (!refused) return;
  if (refused->why == StoppedFor::budget) throw Error(Code::budget_reached, refused->words);
  throw billing::TooFewPoints(refused->points, refused->words);
}

}  // namespace

void admit(db::Tx& tx, const std::string& deployment_id, std::int64_t points_due) {
  admit(tx, deployment_id, points_due, Wanted::deployment);
}

void admit_run(db::Tx& tx, const std::string& deployment_id) {
  if (const std::int64_t points = billing::unpaid(tx, deployment_id); points > 0)
    throw billing::TooFewPoints(points, "the " + std::to_string(points) +
                                            " points for the deployment's present 30 days are "
                                            "missing, so nothing more of it can start");
  admit(tx, deployment_id, 0, Wanted::run);
}

std::optional<StoppedFor> try_to_admit(db::Tx& tx, const std::string& deployment_id,
                                       std::int64_t points_due) {
  const auto refused = admitted(tx, deployment_id, points_due, Wanted::deployment);
  return refused ? std::optional(refused->why) : std::nullopt;
}

bool is_beyond_budget(db::Tx& tx, const std::string& deployment_id, std::int64_t points_due) {
  auto row = tx.query(R"(SELECT app_id FROM deployments WHERE id = $1)", deployment_id);
  if (!row.next()) return false;
  const std::string app_id = row.text("app_id");
  const BudgetBook book(tx, app_id);
  if (book.is_empty()) return false;
  const auto app = load(tx, app_id);
  if (!app) return false;
  const Spending spending(*app, book);
  return std::ranges::any_of(book.budgets(), [&](const BudgetRow& budget) {
    return budget.at_limit == AtLimit::stop_all && budget.applies_to(deployment_id) &&
           spending.spent(budget) + points_due > budget.limit;
  });
}

void look_at(db::Tx& tx, const std::string& app_id) {
  tx.execute(R"(
      UPDATE meter_apps
      SET due_at = $2
      WHERE app_id = $1 AND (due_at IS NULL OR due_at > $2))",
             app_id, tx.now());
}

void charge_now(db::Tx& tx, const std::string& app_id) {
  tx.require_serializable();
  lock_app(tx, app_id);
  count_until_now(tx, app_id);
  auto app = load(tx, app_id);
  if (!app) return;
  BudgetBook book(tx, app_id);
  Outcome outcome;
  const std::vector<Line> lines = app->lines;
  Settlement(tx, *app, book).settle(lines, outcome);
  app->due_at = tx.now();  // the hold is another, too
  store(tx, *app);
}

void close_app(db::Tx& tx, const std::string& app_id) {
  charge_now(tx, app_id);
  ledger::set_held(tx, ledger::app_account(app_id), 0);
  remove_budgets(tx, app_id);
}

std::vector<std::string> due(db::Tx& tx, int most) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(
      SELECT app_id
      FROM meter_apps
      WHERE due_at IS NOT NULL AND due_at <= $1
      ORDER BY due_at
      LIMIT $2)",
                       tx.now(), most);
  while (rows.next()) ids.push_back(rows.text("app_id"));
  return ids;
}

std::optional<Instant> next_due(db::Tx& tx) {
  auto row = tx.query(R"(SELECT min(due_at) AS due_at FROM meter_apps WHERE due_at IS NOT NULL)");
  return row.next() ? row.instant_or_null("due_at") : std::nullopt;
}

Outcome settle_due(db::Tx& tx, const std::string& app_id, const std::string& data_key) {
  tx.require_serializable();
  lock_app(tx, app_id);
  count_open(tx, app_id, start_of_day(utc_day(tx.now())));
  auto app = load(tx, app_id);
  if (!app) return {};
  return Look(tx, std::move(*app), data_key).run();
}

void postpone(db::Tx& tx, const std::string& app_id, Instant until) {
  tx.execute(R"(UPDATE meter_apps SET due_at = $2 WHERE app_id = $1)", app_id, until);
}

std::int64_t held_in_total(db::Tx& tx) {
  return tx.number(R"(SELECT coalesce(sum(held), 0) FROM ledger_accounts WHERE held > 0)");
}

}  // namespace berth::metering
