#include "controller/domain/ledger/ledger_audit.h"

namespace berth::ledger {
namespace {

std::string counted(db::Tx& tx, std::string_view sql, const char* what) {
  return std::to_string(tx.number(sql)) + " " + what;
}

// `broken` selects the rows that violate the invariant: `id`, and `difference`.
Check check(db::Tx& tx, const char* name, std::string_view broken, const std::string& scope) {
  auto rows = tx.query(broken);
  std::int64_t count = 0;
  std::string first;
  for (; rows.next(); ++count)
    if (count == 0) first = rows.text("id") + " is off by " + rows.text("difference");
  if (count == 0) return {.name = name, .ok = true, .detail = scope};
  return {.name = name,
          .ok = false,
          .detail = std::to_string(count) + " of " + scope + ", the first: " + first};
}

// Compares what deployments were charged and credited with what was posted to their app's account.
constexpr std::string_view charges_without_transaction = R"(
    WITH moved AS (
      SELECT deployment_id, transaction_id, amount FROM deployment_charges
      UNION ALL
      SELECT deployment_id, transaction_id, amount FROM deployment_tier_changes
    ), posted AS (
      SELECT m.deployment_id, m.amount, coalesce((
          SELECT sum(p.amount)
          FROM ledger_postings p
          JOIN deployments d ON d.id = m.deployment_id
          WHERE p.transaction_id = m.transaction_id AND p.account_id = 'app:' || d.app_id), 0)
          AS points
      FROM moved m
    )
    SELECT deployment_id AS id, amount + points AS difference
    FROM posted
    WHERE amount + points <> 0)";
constexpr std::string_view transactions_without_charge = R"(
    WITH moved AS (
      SELECT transaction_id FROM deployment_charges
      UNION ALL
      SELECT transaction_id FROM deployment_tier_changes WHERE transaction_id IS NOT NULL
    ), counted AS (
      SELECT transaction_id, count(*) AS times
      FROM moved
      GROUP BY transaction_id
    )
    SELECT t.id, coalesce(c.times, 0) - 1 AS difference
    FROM ledger_transactions t
    LEFT JOIN counted c ON c.transaction_id = t.id
    WHERE t.kind IN ('deployment', 'tier_change') AND coalesce(c.times, 0) <> 1)";

constexpr std::string_view payments_that_differ = R"(
    SELECT id, total_payment - rake - budget AS difference
    FROM campaigns
    WHERE total_payment <> rake + budget)";
constexpr std::string_view budgets_that_differ = R"(
    SELECT id, gone - held AS difference
    FROM (
      SELECT c.id, c.budget - c.spent - c.refunded AS gone, coalesce((
          SELECT sum(a.balance)
          FROM ledger_accounts a
          WHERE a.id IN ('campaign:' || c.id, 'reservation:' || c.id)), 0) AS held
      FROM campaigns c
    ) AS budgets
    WHERE gone <> held)";
constexpr std::string_view payouts_that_differ = R"(
    SELECT id, spent - paid AS difference
    FROM (
      SELECT c.id, c.spent, coalesce((
          SELECT sum(e.payout_rate_snapshot)
          FROM ad_events e
          WHERE e.campaign_id = c.id AND e.event_type = 'impression' AND e.counted = 1), 0) AS paid
      FROM campaigns c
    ) AS payouts
    WHERE spent <> paid)";
constexpr std::string_view viewer_rewards_that_differ = R"(
    SELECT id, viewer_rewards - rewarded AS difference
    FROM (
      SELECT c.id, c.viewer_rewards, c.rake, coalesce((
          SELECT sum(e.viewer_reward)
          FROM ad_events e
          WHERE e.campaign_id = c.id), 0) AS rewarded
      FROM campaigns c
    ) AS rewards
    WHERE viewer_rewards <> rewarded OR viewer_rewards > rake)";

std::vector<Check> campaign_checks(db::Tx& tx) {
  const std::string campaigns = counted(tx, R"(SELECT count(*) FROM campaigns)", "campaigns");
  return {
      check(tx, "each campaign's payments are rake and budget", payments_that_differ, campaigns),
      check(tx, "each campaign's budget is paid, refunded, reserved or remaining",
            budgets_that_differ, campaigns),
      check(tx, "each campaign has paid the payouts of its paid impressions", payouts_that_differ,
            campaigns),
      check(tx, "each campaign's viewers got what its events say, and no more than its rake",
            viewer_rewards_that_differ, campaigns)};
}

constexpr std::string_view sum_of_balances = R"(
    SELECT 'the sum' AS id, sum(balance) AS difference
    FROM ledger_accounts
    HAVING sum(balance) <> 0)";
constexpr std::string_view transactions_that_differ = R"(
    SELECT transaction_id AS id, sum(amount) AS difference
    FROM ledger_postings
    GROUP BY transaction_id
    HAVING sum(amount) <> 0)";
constexpr std::string_view balances_that_differ = R"(
    SELECT id, balance - posted AS difference
    FROM (
      SELECT a.id, a.balance, coalesce((
          SELECT sum(p.amount)
          FROM ledger_postings p
          WHERE p.account_id = a.id), 0) AS posted
      FROM ledger_accounts a
    ) AS balances
    WHERE balance <> posted)";
constexpr std::string_view transactions_without_postings = R"(
    SELECT t.id, 2 - count(p.id) AS difference
    FROM ledger_transactions t
    LEFT JOIN ledger_postings p ON p.transaction_id = t.id
    GROUP BY t.id
    HAVING count(p.id) < 2)";
constexpr std::string_view reservations_that_differ = R"(
    SELECT id, balance - held AS difference
    FROM (
      SELECT a.id, a.balance, coalesce((
          SELECT sum(h.amount)
          FROM ledger_holds h
          WHERE h.held_id = a.id AND h.state = 'open'), 0) AS held
      FROM ledger_accounts a
      WHERE a.kind = 'reservation'
    ) AS reservations
    WHERE balance <> held)";

}  // namespace

std::vector<Check> audit(db::Tx& tx) {
  const std::string accounts = counted(tx, R"(SELECT count(*) FROM ledger_accounts)", "accounts");
  const std::string transactions =
      counted(tx, R"(SELECT count(*) FROM ledger_transactions)", "transactions");
  const std::string charges = counted(tx, R"(
      SELECT (SELECT count(*) FROM deployment_charges)
           + (SELECT count(*) FROM deployment_tier_changes))",
                                      "charges");
  const std::string open_holds =
      counted(tx, R"(SELECT count(*) FROM ledger_holds WHERE state = 'open')", "open holds");
  std::vector<Check> checks = {
      check(tx, "all balances sum to 0", sum_of_balances, accounts),
      check(tx, "each transaction's postings sum to 0", transactions_that_differ, transactions),
      check(tx, "each balance is the sum of its postings", balances_that_differ, accounts),
      check(tx, "each transaction has postings", transactions_without_postings, transactions),
      check(tx, "each reservation is the sum of its open holds", reservations_that_differ,
            open_holds),
      check(tx, "each charge of a deployment is its ledger transaction",
            charges_without_transaction, charges),
      check(tx, "each ledger transaction of a deployment is one charge",
            transactions_without_charge, transactions)};
  for (Check& one : campaign_checks(tx)) checks.push_back(std::move(one));
  return checks;
}

}  // namespace berth::ledger
