// How changes that owners and admins make affect what a deployment pays.
#include <algorithm>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/domain/deployments/billing/billing_rows.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/metering/meter.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/rewards.h"

namespace berth::billing {
namespace {

[[noreturn]] void refuse_payment(db::Tx& tx, const Account& account) {
  throw TooFewPoints(account.price,
                     "the app's balance is lower than the price of " +
                         std::to_string(account.price) + " points for 30 days of " +
                         words_for_size(account) +
                         ledger::words_for_held(tx, ledger::app_account(account.app_id)));
}

// Makes the deployment due at once, so that the billing loop determines what is due when.
void have_looked_at(Account& account, Instant now) {
  if (account.price > 0 || account.stipend > 0) account.due_at = now;
}

void put_on(db::Tx& tx, Account& account, const tiers::Tier& tier) {
  tx.execute(R"(
      UPDATE deployments
      SET tier_id = $2, memory_limit_mb = $3, cpu_limit_millicores = $4
      WHERE id = $1)",
             account.id, tier.id, tier.memory_limit_mb, tier.cpu_limit_millicores);
  account.tier_id = tier.id;
  account.tier_slug = tier.slug;
  account.tier_price = tier.monthly_cost_points.value_or(0);
  account.stipend = tier.monthly_stipend_points;
}

std::optional<std::string> move(db::Tx& tx, const Account& account, std::int64_t amount) {
  const std::string memo = "deployment " + account.name + ", now with " + words_for_size(account);
  const auto app = ledger::app_account(account.app_id);
  ledger::open_account(tx, ledger::treasury());
  const bool is_charge = amount > 0;
  // Nobody knows whether the charge was paid with bonus points, so a credit is marked like a gift.
  // Otherwise bonus points could become the owner's own.
  const ledger::Mark mark =
      is_charge ? ledger::Mark::kept : rewards::mark_of_gift(tx, account.owner_id);
  const auto transaction = ledger::post(tx, {.kind = "tier_change",
                                             .from = is_charge ? app : ledger::treasury(),
                                             .to = is_charge ? ledger::treasury() : app,
                                             .amount = is_charge ? amount : -amount,
                                             .memo = memo,
                                             .mark = mark});
  if (transaction) return transaction;
  if (is_charge)
    throw TooFewPoints(amount, "the app's balance is lower than the " + std::to_string(amount) +
                                   " points that the rest of the period costs more with " +
                                   words_for_size(account) + ledger::words_for_held(tx, app));
  throw Error(Code::unavailable, "the treasury can't pay the credit at the moment");
}

// What was paid for the period and hasn't been given back since it began. A refund that an admin
// makes counts first for the period in which it is made, but not what was clawed back of it.
std::int64_t left_of_paid(db::Tx& tx, const std::string& deployment_id, const Period& period) {
  const std::int64_t left = tx.number(R"(
      SELECT coalesce((SELECT sum(amount)
                       FROM deployment_charges
                       WHERE deployment_id = $1 AND period_start = $2), 0)
           + coalesce((SELECT sum(amount)
                       FROM deployment_tier_changes
                       WHERE deployment_id = $1 AND period_start = $2), 0)
           - coalesce((SELECT sum(amount)
                       FROM deployment_refunds
                       WHERE deployment_id = $1 AND at >= $2), 0)
           + coalesce((SELECT sum(c.amount)
                       FROM deployment_refunds r
                       JOIN claw_backs c ON c.transaction_id = r.transaction_id
                       WHERE r.deployment_id = $1 AND r.at >= $2), 0))",
                                      deployment_id, period.start);
  return std::max<std::int64_t>(left, 0);
}

// What another price of a whole period costs for the rest of a paid or free one; below 0 for a
// credit, which is never more than what is left of what was paid.
std::int64_t price_of_rest(db::Tx& tx, const Account& account, std::int64_t rate) {
  const Period period = period_at(account.created_at, tx.now());
  const std::int64_t price = price_of_change(account.rate, rate, period.end - tx.now());
  return price < 0 ? std::max(price, -left_of_paid(tx, account.id, period)) : price;
}

// The price of a period that was paid at `rate` with another number of containers: each costs what
// was agreed for the period. Rounded up, so that changing back and forth never gains a point.
std::int64_t rate_of(std::int64_t rate, int from, int to) {
  return std::min((rate * to + from - 1) / from, ledger::max_points);
}

// Returns the price of a whole period by which the rest of the present one has to be settled; none
// if that isn't paid, or if the change costs nothing. `account` is as it is after the change.
std::optional<std::int64_t> rate_of_rest(const Account& account, const Account& before,
                                         Instant now) {
  if (before.status != Status::exempt && account.paid_until <= now) return std::nullopt;
  if (account.tier_id != before.tier_id) return account.price;
  if (account.price == 0 || account.containers == before.containers) return std::nullopt;
  return rate_of(account.rate, before.containers, account.containers);
}

// Settles the rest of a paid or free period at another price.
void settle_rest(db::Tx& tx, Account& account, const Account& before, std::int64_t rate) {
  const Period period = period_at(account.created_at, tx.now());
  const std::int64_t amount = price_of_rest(tx, account, rate);
  const auto transaction = amount == 0 ? std::optional<std::string>() : move(tx, account, amount);
  tx.execute(R"(
      INSERT INTO deployment_tier_changes
        (id, deployment_id, period_start, from_tier_id, to_tier_id, from_containers, to_containers,
         amount, transaction_id, at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10))",
             new_uuid(tx.now()), account.id, period.start, before.tier_id, account.tier_id,
             before.containers, account.containers, amount, transaction, tx.now());
  account.paid_until = period.end;
  account.rate = rate;
  // Otherwise an owner could have the warning repeated, and the day until the stop begin again.
  if (account.tier_id != before.tier_id) account.warned_at.reset();
}

// Pays, and ends a suspension for lack of points. The deployment was admitted before.
void pay_and_go_on(db::Tx& tx, Account& account, const deployments::Actor& actor) {
  const bool was_suspended = account.status == Status::suspended;
  if (!pay(tx, account)) refuse_payment(tx, account);
  if (was_suspended && !account.suspended_by_admin) reactivate(tx, account, actor);
  have_looked_at(account, tx.now());
}

}  // namespace

void open_account(db::Tx& tx, const deployments::Deployment& deployment, const tiers::Tier& tier) {
  tx.execute(R"(
      INSERT INTO deployment_billing (deployment_id, app_id, paid_until, rate)
      VALUES ($1, $2, $3, 0))",
             deployment.id, deployment.app_id, deployment.inserted_at);
  Account account = get_account(tx, deployment.id);
  account.price = price_of(tier.monthly_cost_points.value_or(0), account.containers);
  metering::admit(tx, account.id, points_due(tx, account));
  if (!pay(tx, account)) refuse_payment(tx, account);
  have_looked_at(account, tx.now());
  store(tx, account);
}

void resume(db::Tx& tx, const deployments::Actor& actor, const std::string& deployment_id) {
  tx.require_serializable();
  Account account = get_account(tx, deployment_id);
  follow_price(account, tx.now());
  metering::admit(tx, account.id, points_due(tx, account));
  pay_and_go_on(tx, account, actor);
  store(tx, account);
}

bool stop_renewal(db::Tx& tx, const std::string& deployment_id) {
  tx.require_serializable();
  Account account = get_account(tx, deployment_id);
  const bool would_start = !runs(account) && !rests(account);
  if (account.status == Status::suspended)
    tx.execute(R"(UPDATE deployments SET message = NULL WHERE id = $1 AND suspended_at IS NULL)",
               account.id);
  account.resumes = false;
  account.due_at.reset();
  account.stopped_for.reset();
  // Nothing is due while only the owner can start the deployment. When it is started, billing
  // decides again whether to warn them.
  if (account.status != Status::exempt) account.status = Status::current;
  store(tx, account);
  metering::look_at(tx, account.app_id);
  return would_start;
}

std::int64_t change_size(db::Tx& tx, const deployments::Actor& actor,
                         const std::string& deployment_id, const std::optional<tiers::Tier>& tier,
                         const deployments::ContainerSpec& container) {
  tx.require_serializable();
  Account account = get_account(tx, deployment_id);
  follow_price(account, tx.now());
  if (tier && account.status == Status::exempt && account.paid_until <= tx.now()) account.rate = 0;
  const Account before = account;
  if (tier) {
    metering::tier_changes(tx, account.id);
    put_on(tx, account, *tier);
  }
  account.containers = deployments::most_replicas(container);
  account.price = price_of(account.tier_price, account.containers);
  deployments::store_most(tx, account.id, container);
  const auto rate = rate_of_rest(account, before, tx.now());
  const std::int64_t amount = rate ? price_of_rest(tx, account, *rate) : points_due(tx, account);
  const bool is_less = !tier && account.containers < before.containers && amount <= 0;
  // What goes on with fewer containers than before needs no more points than it has.
  if (runs(account) && is_less)
    metering::look_at(tx, account.app_id);
  else
    metering::admit(tx, account.id, std::max<std::int64_t>(amount, 0));
  // While the tier costs nothing, nothing is settled. If it costs something again in this period,
  // those that stay were paid at what was agreed for each, and not at what was paid for all.
  const bool is_free_less = !rate && !tier && account.containers < before.containers;
  if (is_free_less) account.rate = rate_of(account.rate, before.containers, account.containers);
  if (rate) settle_rest(tx, account, before, *rate);
  pay_and_go_on(tx, account, actor);
  store(tx, account);
  return amount;
}

void suspended_by_admin(db::Tx& tx, const std::string& deployment_id) {
  tx.require_serializable();
  Account account = get_account(tx, deployment_id);
  account.resumes = runs(account) || account.status == Status::suspended;
  account.due_at.reset();
  if (account.status == Status::warning) account.status = Status::current;
  store(tx, account);
  metering::look_at(tx, account.app_id);
}

bool released_by_admin(db::Tx& tx, const std::string& deployment_id) {
  tx.require_serializable();
  Account account = get_account(tx, deployment_id);
  const bool was_to_run = account.resumes;
  account.resumes = false;
  follow_price(account, tx.now());
  const bool may_start = was_to_run && is_admitted(tx, account);
  const bool is_paid = may_start && pay(tx, account);
  if (may_start) account.stopped_for.reset();
  if (was_to_run && !is_paid) account.status = Status::suspended;
  have_looked_at(account, tx.now());
  store(tx, account);
  return is_paid;
}

void tier_changed(db::Tx& tx, const std::string& tier_id) {
  tx.execute(R"(
      UPDATE deployment_billing
      SET due_at = $2
      WHERE deployment_id IN
        (SELECT id FROM deployments WHERE tier_id = $1 AND status <> 'destroyed'))",
             tier_id, tx.now());
}

}  // namespace berth::billing
