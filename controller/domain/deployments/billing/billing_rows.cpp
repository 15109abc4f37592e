#include "controller/domain/deployments/billing/billing_rows.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/db/enum_column.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::billing {
namespace {

bool is_charged(db::Tx& tx, const Account& account, const Period& period) {
  return tx.number(R"(
      SELECT count(*)
      FROM deployment_charges
      WHERE deployment_id = $1 AND period_start = $2)",
                   account.id, period.start) > 0;
}

std::string memo_of(const Account& account) {
  std::string memo = "deployment " + account.name + ", tier " + account.tier_slug;
  if (account.containers > 1) memo += ", " + std::to_string(account.containers) + " containers";
  return memo;
}

// Returns false, and changes nothing, if the app has too few points.
bool charge(db::Tx& tx, const Account& account, const Period& period) {
  // The charge counts in the app's budgets. All writes change the app's row of metering before
  // those of the ledger, so that they can't deadlock.
  metering::look_at(tx, account.app_id);
  ledger::open_account(tx, ledger::treasury());
  const auto transaction = ledger::post(tx, {.kind = "deployment",
                                             .from = ledger::app_account(account.app_id),
                                             .to = ledger::treasury(),
                                             .amount = account.price,
                                             .memo = memo_of(account)});
  if (!transaction) return false;
  tx.execute(R"(
      INSERT INTO deployment_charges
        (deployment_id, period_start, transaction_id, amount, tier_id, containers)
      VALUES ($1, $2, $3, $4, $5, $6))",
             account.id, period.start, *transaction, account.price, account.tier_id,
             account.containers);
  return true;
}

}  // namespace

std::int64_t price_of(std::int64_t tier_price, int containers) {
  static_assert(ledger::max_points < std::numeric_limits<std::int64_t>::max() /
                                         deployments::max_processes / deployments::max_replicas);
  return std::min(tier_price * containers, ledger::max_points);
}

std::string words_for_size(const Account& account) {
  return (account.containers > 1 ? std::to_string(account.containers) + " containers on " : "") +
         "the tier " + account.tier_slug;
}

std::optional<Account> find_account(db::Tx& tx, const std::string& deployment_id) {
  auto row = tx.query(R"(
      SELECT d.id, d.app_id, d.owner_id, d.name, d.status, d.suspended_at, d.inserted_at, d.tier_id,
             d.most_containers, t.slug, coalesce(t.monthly_cost_points, 0) AS tier_price,
             t.monthly_stipend_points, d.billing_status, b.paid_until, b.rate, b.due_at, b.warned_at, b.resumes,
             b.stopped_for
      FROM deployment_billing b
      JOIN deployments d ON d.id = b.deployment_id
      JOIN deploy_tiers t ON t.id = d.tier_id
      WHERE b.deployment_id = $1)",
                      deployment_id);
  if (!row.next()) return std::nullopt;
  const std::int64_t tier_price = row.integer("tier_price");
  const int containers = int(row.integer("most_containers"));
  return Account{.id = row.text("id"),
                 .app_id = row.text("app_id"),
                 .owner_id = row.text("owner_id"),
                 .name = row.text("name"),
                 .deployment_status = db::enum_of<deployments::Status>(row, "status"),
                 .suspended_by_admin = !row.null("suspended_at"),
                 .created_at = row.instant("inserted_at"),
                 .tier_id = row.text("tier_id"),
                 .tier_slug = row.text("slug"),
                 .tier_price = tier_price,
                 .containers = containers,
                 .price = price_of(tier_price, containers),
                 .stipend = row.integer("monthly_stipend_points"),
                 .status = db::enum_or_null<Status>(row, "billing_status").value_or(Status::exempt),
                 .paid_until = row.instant("paid_until"),
                 .rate = row.integer("rate"),
                 .due_at = row.instant_or_null("due_at"),
                 .warned_at = row.instant_or_null("warned_at"),
                 .resumes = row.flag("resumes"),
                 .stopped_for = db::enum_or_null<StoppedFor>(row, "stopped_for")};
}

Account get_account(db::Tx& tx, const std::string& deployment_id) {
  auto account = find_account(tx, deployment_id);
  if (!account) throw Error(Code::deployment_not_found, "there is no such deployment");
  return std::move(*account);
}

void store(db::Tx& tx, const Account& account) {
  tx.execute(R"(
      UPDATE deployment_billing
      SET paid_until = $2, rate = $3, due_at = $4, warned_at = $5, resumes = $6, stopped_for = $7
      WHERE deployment_id = $1)",
             account.id, account.paid_until, account.rate, account.due_at, account.warned_at,
             account.resumes, to_string(account.stopped_for));
  const int changed = tx.execute(R"(
      UPDATE deployments
      SET billing_status = $2, updated_at = $3
      WHERE id = $1 AND billing_status IS DISTINCT FROM $2)",
                                 account.id, to_string(account.status), tx.now());
  if (changed > 0) tx.notify(db::Topic::deployment_seen, account.id);
}

bool runs(const Account& account) {
  return account.deployment_status != deployments::Status::stopped &&
         account.deployment_status != deployments::Status::destroyed;
}

bool rests(const Account& account) {
  if (account.deployment_status == deployments::Status::destroyed) return true;
  if (account.suspended_by_admin) return !account.resumes;
  return !runs(account) && account.status != Status::suspended;
}

void follow_price(Account& account, Instant now) {
  if (account.price == 0) {
    // pay() ends the suspension, and charges nothing.
    if (account.status == Status::suspended) return;
    account.status = Status::exempt;
    account.warned_at.reset();
  } else if (account.status == Status::exempt) {
    account.status = Status::current;
    if (account.paid_until > now) return;
    account.paid_until = period_at(account.created_at, now).end;
    account.rate = 0;
  }
}

std::int64_t points_due(db::Tx& tx, const Account& account) {
  if (account.price == 0 || tx.now() < account.paid_until) return 0;
  return is_charged(tx, account, period_at(account.created_at, tx.now())) ? 0 : account.price;
}

bool is_admitted(db::Tx& tx, Account& account) {
  const auto refused = metering::try_to_admit(tx, account.id, points_due(tx, account));
  if (refused) account.stopped_for = refused;
  return !refused;
}

const char* message_of(const std::optional<StoppedFor>& why) {
  if (!why) return points_missing;
  return *why == StoppedFor::points ? metering::hour_missing : metering::budget_spent;
}

bool pay(db::Tx& tx, Account& account) {
  const Period period = period_at(account.created_at, tx.now());
  if (tx.now() >= account.paid_until) {
    if (account.price > 0 && !is_charged(tx, account, period) && !charge(tx, account, period))
      return false;
    account.paid_until = period.end;
    account.rate = account.price;
    account.warned_at.reset();
  }
  account.status = account.price == 0  ? Status::exempt
                   : account.warned_at ? Status::warning
                                       : Status::current;
  return true;
}

void reactivate(db::Tx& tx, Account& account, const std::optional<deployments::Actor>& actor) {
  deployments::begin_generation(tx, account.id,
                                {.status = deployments::Status::deploying,
                                 .request_id = actor ? actor->request_id : request_of_loop});
  account.deployment_status = deployments::Status::deploying;
  const bool was_for_budget = account.stopped_for == StoppedFor::budget;
  account.stopped_for.reset();
  deployments::write_log(
      tx, account.id,
      {.action = deployments::LogAction::reactivate,
       .status = deployments::LogStatus::succeeded,
       .initiated_by = actor ? std::optional(actor->user_id) : std::nullopt,
       .details = nlohmann::json{{"reason", was_for_budget ? "budget_left" : "paid"},
                                 {"amount", account.price},
                                 {"paid_until", to_iso8601(account.paid_until)}}
                      .dump()});
  webhooks::emit(tx, account.app_id, "billing.reactivated", account.id,
                 {{"deployment_id", account.id},
                  {"name", account.name},
                  {"amount", account.price},
                  {"paid_until", to_iso8601(account.paid_until)}});
}

}  // namespace berth::billing
