// What the billing loop calls: renewals, and warnings and suspensions if the points for one are
// missing. settle_due() brings one deployment to the state that it should have at present.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/billing/billing_rows.h"
#include "controller/domain/deployments/billing/mail.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/deployments/stipends.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::billing {
namespace {

using deployments::LogAction;
using deployments::LogStatus;

constexpr std::int64_t hours_of_period = 30 * 24;

std::int64_t balance_of(db::Tx& tx, const Account& account) {
  return ledger::balance(tx, ledger::app_account(account.app_id));
}

// Returns whether what may leave the account covers this renewal after the earlier ones of the same
// app. A sum of prices may exceed 64 bits, so it is a floating-point number, which is exact up to
// the largest balance.
bool is_covered(db::Tx& tx, const Account& account) {
  const std::int64_t balance = ledger::spendable(tx, ledger::app_account(account.app_id));
  if (account.price > balance) return false;
  return tx.number(R"(
      SELECT CASE WHEN coalesce(sum(CAST(t.monthly_cost_points AS DOUBLE PRECISION)
                                    * d.most_containers), 0)
                       <= CAST($4 AS DOUBLE PRECISION)
                  THEN 1 ELSE 0 END AS is_covered
      FROM deployment_billing b
      JOIN deployments d ON d.id = b.deployment_id
      JOIN deploy_tiers t ON t.id = d.tier_id
      WHERE b.app_id = $1 AND b.deployment_id <> $2 AND b.due_at IS NOT NULL
        AND d.status NOT IN ('stopped', 'destroyed')
        AND d.billing_status IN ('current', 'warning')
        AND (b.paid_until < $3 OR (b.paid_until = $3 AND b.deployment_id < $2)))",
                   account.app_id, account.id, account.paid_until, balance - account.price) == 1;
}

Instant stop_time(const Account& account) {
  return std::max(account.paid_until, *account.warned_at + notice);
}

void write_money_log(db::Tx& tx, const Account& account, LogAction action, LogStatus status,
                     nlohmann::json details) {
  details.update({{"reason", "insufficient_balance"},
                  {"amount", account.price},
                  {"balance", balance_of(tx, account)}});
  deployments::write_log(
      tx, account.id,
      {.action = action, .status = status, .initiated_by = {}, .details = details.dump()});
}

void tell_webhooks(db::Tx& tx, const Account& account, const char* type, nlohmann::json data) {
  data.update({{"deployment_id", account.id},
               {"name", account.name},
               {"amount", account.price},
               {"balance", balance_of(tx, account)}});
  webhooks::emit(tx, account.app_id, type, account.id, data);
}

void warn(db::Tx& tx, Account& account, const std::string& data_key) {
  account.status = Status::warning;
  if (account.warned_at) return;
  account.warned_at = tx.now();
  const Instant stops_at = stop_time(account);
  write_money_log(
      tx, account, LogAction::billing_warning, LogStatus::info,
      {{"renewal_at", to_iso8601(account.paid_until)}, {"stops_at", to_iso8601(stops_at)}});
  tell_webhooks(
      tx, account, "billing.warning",
      {{"renewal_at", to_iso8601(account.paid_until)}, {"stops_at", to_iso8601(stops_at)}});
  webhooks::emit(
      tx, account.app_id, "balance.low", account.id,
      {{"deployment_id", account.id},
       {"balance", balance_of(tx, account)},
       {"held", ledger::held(tx, ledger::app_account(account.app_id))},
       {"points_per_hour", account.price / hours_of_period},
       {"hours_left", std::chrono::floor<std::chrono::hours>(stops_at - tx.now()).count()}});
  mail_warning(tx, account, stops_at, data_key);
}

void stop(db::Tx& tx, Account& account, const std::optional<StoppedFor>& why) {
  deployments::begin_generation(tx, account.id,
                                {.status = deployments::Status::stopped,
                                 .request_id = request_of_loop,
                                 .message = message_of(why)});
  account.deployment_status = deployments::Status::stopped;
  account.status = Status::suspended;
  account.stopped_for = why;
  account.warned_at.reset();
  metering::look_at(tx, account.app_id);  // it needs no hold any more
}

void suspend(db::Tx& tx, Account& account, const std::string& data_key) {
  write_money_log(tx, account, LogAction::billing_failed, LogStatus::failed,
                  {{"warned_at", to_iso8601(*account.warned_at)}});
  write_money_log(tx, account, LogAction::suspend, LogStatus::succeeded, nlohmann::json::object());
  stop(tx, account, {});
  tell_webhooks(tx, account, "billing.failed", nlohmann::json::object());
  mail_failure(tx, account, data_key);
}

// To be called if the period is paid. Warns if the balance doesn't cover the next one.
void announce(db::Tx& tx, Account& account, const std::string& data_key) {
  account.due_at = account.paid_until;
  if (tx.now() < account.paid_until - notice) {
    account.due_at = account.paid_until - notice;
  } else if (is_covered(tx, account)) {
    account.status = Status::current;
    account.warned_at.reset();
  } else {
    warn(tx, account, data_key);
  }
}

// To be called if the period isn't paid and can't be paid now. Warns, and suspends the deployment
// once it was warned for long enough.
void overdue(db::Tx& tx, Account& account, const std::string& data_key) {
  warn(tx, account, data_key);
  if (tx.now() >= stop_time(account))
    suspend(tx, account, data_key);
  else
    account.due_at = stop_time(account);
}

void log_stop(db::Tx& tx, const Account& account, const nlohmann::json& details) {
  deployments::write_log(tx, account.id,
                         {.action = LogAction::suspend,
                          .status = LogStatus::succeeded,
                          .initiated_by = {},
                          .details = details.dump()});
}

void suspend_for_budget(db::Tx& tx, Account& account) {
  log_stop(tx, account, {{"reason", "budget_reached"}, {"amount", account.price}});
  stop(tx, account, StoppedFor::budget);
}

void renew(db::Tx& tx, Account& account, const std::string& data_key) {
  follow_price(account, tx.now());
  if (account.status == Status::exempt) return;
  const std::int64_t points = points_due(tx, account);
  if (points > 0 && metering::is_beyond_budget(tx, account.id, points))
    return suspend_for_budget(tx, account);
  if (pay(tx, account))
    announce(tx, account, data_key);
  else
    overdue(tx, account, data_key);
}

// It waits for something else than before.
void say_why_not(db::Tx& tx, const Account& account, const std::optional<StoppedFor>& before) {
  if (account.stopped_for == before) return;
  tx.execute(R"(UPDATE deployments SET message = $2, updated_at = $3 WHERE id = $1)", account.id,
             message_of(account.stopped_for), tx.now());
  tx.notify(db::Topic::deployment_seen, account.id);
}

void try_to_reactivate(db::Tx& tx, Account& account, const std::string& data_key) {
  const auto was_for = account.stopped_for;
  if (!is_admitted(tx, account)) return say_why_not(tx, account, was_for);
  if (!pay(tx, account)) {
    account.stopped_for.reset();
    return say_why_not(tx, account, was_for);
  }
  reactivate(tx, account, std::nullopt);
  // A budget's period moves on every day, which is no news.
  if (was_for != StoppedFor::budget) mail_reactivation(tx, account, data_key);
  renew(tx, account, data_key);
}

void do_what_is_due(db::Tx& tx, Account& account, const std::string& data_key) {
  account.due_at.reset();
  if (runs(account))
    renew(tx, account, data_key);
  else if (!rests(account) && !account.suspended_by_admin)
    try_to_reactivate(tx, account, data_key);
  if (!runs(account) || account.stipend == 0) return;
  const Instant again = stipends::pay_if_due(tx, account.owner_id);
  account.due_at = account.due_at ? std::min(*account.due_at, again) : again;
}

std::vector<std::string> ids(db::Query rows) {
  std::vector<std::string> found;
  while (rows.next()) found.push_back(rows.text("id"));
  return found;
}

Outcome outcome_of(const Account& before, const Account& after) {
  const bool paid = after.paid_until > before.paid_until;
  if (before.status == Status::suspended && after.status != Status::suspended)
    return Outcome::reactivated;
  if (before.status != Status::suspended && after.status == Status::suspended)
    return Outcome::suspended;
  if (after.warned_at && !before.warned_at) return Outcome::warned;
  return paid && after.status != Status::exempt ? Outcome::renewed : Outcome::nothing;
}

}  // namespace

Outcome settle_due(db::Tx& tx, const std::string& deployment_id, const std::string& data_key) {
  tx.require_serializable();
  const auto before = find_account(tx, deployment_id);
  if (!before) return Outcome::nothing;
  Account account = *before;
  do_what_is_due(tx, account, data_key);
  if (account != *before) store(tx, account);
  return outcome_of(*before, account);
}

void postpone(db::Tx& tx, const std::string& deployment_id, Instant until) {
  tx.execute(R"(UPDATE deployment_billing SET due_at = $2 WHERE deployment_id = $1)", deployment_id,
             until);
}

void suspend_metered(db::Tx& tx, const std::string& deployment_id, StoppedFor why,
                     std::int64_t points_per_hour, const nlohmann::json& details) {
  tx.require_serializable();
  Account account = get_account(tx, deployment_id);
  log_stop(tx, account, details);
  stop(tx, account, why);
  account.due_at.reset();
  store(tx, account);
  if (why == StoppedFor::budget) return;  // metering tells of budgets
  webhooks::emit(tx, account.app_id, "billing.failed", account.id,
                 {{"deployment_id", account.id},
                  {"name", account.name},
                  {"amount", account.price},
                  {"points_per_hour", points_per_hour},
                  {"balance", balance_of(tx, account)}});
}

void log_warning(db::Tx& tx, const std::string& deployment_id, const nlohmann::json& details) {
  deployments::write_log(tx, deployment_id,
                         {.action = LogAction::billing_warning,
                          .status = LogStatus::info,
                          .initiated_by = {},
                          .details = details.dump()});
}

void look_at(db::Tx& tx, const std::string& deployment_id) {
  postpone(tx, deployment_id, tx.now());
}

std::optional<std::string> why_suspended(db::Tx& tx, const std::string& deployment_id) {
  const auto account = find_account(tx, deployment_id);
  if (!account || account->status != Status::suspended) return std::nullopt;
  return message_of(account->stopped_for);
}

std::vector<std::string> due(db::Tx& tx, int most) {
  return ids(tx.query(
      R"(
      SELECT deployment_id AS id
      FROM deployment_billing
      WHERE due_at IS NOT NULL AND due_at <= $1
      ORDER BY due_at
      LIMIT $2)",
      tx.now(), most));
}

std::optional<Instant> next_due(db::Tx& tx) {
  auto row =
      tx.query(R"(SELECT min(due_at) AS due_at FROM deployment_billing WHERE due_at IS NOT NULL)");
  return row.next() ? row.instant_or_null("due_at") : std::nullopt;
}

std::vector<std::string> in_debt(db::Tx& tx, const std::string& app_id, const std::string& after,
                                 int most) {
  static const std::string debts = R"(
      SELECT d.id
      FROM deployments d
      JOIN deploy_tiers t ON t.id = d.tier_id
      JOIN deployment_billing b ON b.deployment_id = d.id
      JOIN ledger_accounts a ON a.id = 'app:' || d.app_id
      WHERE d.billing_status IN ('warning', 'suspended') AND d.status <> 'destroyed'
        AND d.suspended_at IS NULL
        AND (b.stopped_for IS NULL OR b.stopped_for <> 'budget')
        AND a.balance - a.held + coalesce((SELECT sum(p.amount)
                                           FROM ledger_pending p
                                           WHERE p.account_number = a.number), 0)
            >= CASE WHEN b.stopped_for = 'points' AND b.paid_until > $3 THEN 0
                    ELSE coalesce(t.monthly_cost_points, 0) * d.most_containers END
               + CASE WHEN d.billing_status = 'suspended'
                      THEN coalesce((SELECT p.points_per_hour
                                     FROM tier_prices p
                                     WHERE p.tier_id = t.id AND p.from_day <= $4
                                     ORDER BY p.from_day DESC
                                     LIMIT 1), 0) * d.most_containers
                      ELSE 0 END
        AND d.id > $1
  )";
  static const std::string of_all = debts + R"(ORDER BY d.id LIMIT $2)";
  static const std::string of_app = debts + R"(AND d.app_id = $5 ORDER BY d.id LIMIT $2)";
  const std::int64_t today = utc_day(tx.now());
  return app_id.empty() ? ids(tx.query(of_all, after, most, tx.now(), today))
                        : ids(tx.query(of_app, after, most, tx.now(), today, app_id));
}

}  // namespace berth::billing
