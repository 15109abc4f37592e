#include "controller/domain/ledger/ledger_audit.h"

#include <limits>

#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/closed_days.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/ledger/pending_rows.h"
#include "controller/domain/ledger/range_checks.h"

namespace berth::ledger {
namespace {

// In how many parts closed days are read at most.
constexpr std::int64_t most_slices = 16;

constexpr std::string_view sum_of_balances = R"(
    SELECT 'the sum' AS id, sum(points) AS difference
    FROM (
      SELECT balance AS points
      FROM ledger_accounts
      UNION ALL
      SELECT amount
      FROM ledger_pending
    ) AS balances
    HAVING sum(points) <> 0)";
constexpr std::string_view transactions_that_differ = R"(
    SELECT t.id_high, t.id_low, sums.difference
    FROM (
      SELECT transaction_number, sum(amount) AS difference
      FROM ledger_postings
      GROUP BY transaction_number
      HAVING sum(amount) <> 0
    ) AS sums
    JOIN ledger_transactions t ON t.number = sums.transaction_number
    ORDER BY t.number)";
constexpr std::string_view balances_that_differ = R"(
    SELECT id, balance - posted AS difference
    FROM (
      SELECT a.id,
             a.balance + coalesce((
               SELECT sum(w.amount)
               FROM ledger_pending w
               WHERE w.account_number = a.number), 0) AS balance,
             coalesce((
               SELECT sum(p.amount)
               FROM ledger_postings p
               WHERE p.account_number = a.number), 0) AS posted
      FROM ledger_accounts a
    ) AS balances
    WHERE balance <> posted
    ORDER BY id)";
constexpr std::string_view transactions_without_postings = R"(
    SELECT t.id_high, t.id_low, 2 - counts.postings AS difference
    FROM (
      SELECT t.number, count(p.leg) AS postings
      FROM ledger_transactions t
      LEFT JOIN ledger_postings p ON p.transaction_number = t.number
      GROUP BY t.number
      HAVING count(p.leg) < 2
    ) AS counts
    JOIN ledger_transactions t ON t.number = counts.number
    ORDER BY t.number)";
constexpr std::string_view transactions_with_receipts = R"(
    SELECT t.id_high, t.id_low
    FROM ledger_transactions t
    JOIN ledger_kinds k ON k.number = t.kind
    WHERE k.kind IN ('deployment', 'tier_change', 'deployment_refund', 'refund', 'metering',
                     'claw_back'))";

// An account's points in and out, less those of its newest day, and less its balance.
constexpr std::string_view totals_that_differ = R"(
    SELECT id, abs(credited - seen_credited) + abs(debited - seen_debited)
             + abs(balance - credited + debited) AS difference
    FROM (
      SELECT a.id, a.balance, a.credited, a.debited,
             coalesce(d.credited, 0) AS seen_credited, coalesce(d.debited, 0) AS seen_debited
      FROM ledger_accounts a
      LEFT JOIN ledger_days d ON d.account_id = a.id AND d.day = (
        SELECT max(e.day)
        FROM ledger_days e
        WHERE e.account_id = a.id)
    ) AS totals
    WHERE credited <> seen_credited OR debited <> seen_debited OR balance <> credited - debited
    ORDER BY id)";
// 1048576 are the places of a millisecond (numbers.h), and a day has 86400000 milliseconds.
constexpr std::string_view day_sums_that_differ = R"(
    WITH sums AS (
      SELECT account_id, day,
             credited - lag(credited, 1, 0) OVER (PARTITION BY account_id ORDER BY day)
               AS credited,
             debited - lag(debited, 1, 0) OVER (PARTITION BY account_id ORDER BY day)
               AS debited
      FROM ledger_days
      UNION ALL
      SELECT a.id, w.transaction_number / 1048576 / 86400000, w.amount, 0
      FROM ledger_pending w
      JOIN ledger_accounts a ON a.number = w.account_number
      UNION ALL
      SELECT a.id, p.transaction_number / 1048576 / 86400000,
             CASE WHEN p.amount > 0 THEN -p.amount ELSE 0 END,
             CASE WHEN p.amount < 0 THEN p.amount ELSE 0 END
      FROM ledger_postings p
      JOIN ledger_accounts a ON a.number = p.account_number
    )
    SELECT account_id AS id, day, abs(sum(credited)) + abs(sum(debited)) AS difference
    FROM sums
    GROUP BY account_id, day
    HAVING sum(credited) <> 0 OR sum(debited) <> 0
    ORDER BY account_id, day)";
constexpr std::string_view kind_sums_that_differ = R"(
    WITH sums AS (
      SELECT account_id, day, kind, postings, credited, debited
      FROM ledger_kind_days
      UNION ALL
      SELECT a.id, w.transaction_number / 1048576 / 86400000, k.kind, 1, w.amount, 0
      FROM ledger_pending w
      JOIN ledger_accounts a ON a.number = w.account_number
      JOIN ledger_kinds k ON k.number = w.kind
      UNION ALL
      SELECT a.id, p.transaction_number / 1048576 / 86400000, k.kind, -1,
             CASE WHEN p.amount > 0 THEN -p.amount ELSE 0 END,
             CASE WHEN p.amount < 0 THEN p.amount ELSE 0 END
      FROM ledger_accounts a
      JOIN ledger_postings p ON p.account_number = a.number
      JOIN ledger_kinds k ON k.number = p.kind
      WHERE a.kind IN ('app', 'treasury', 'issuance')
    )
    SELECT account_id || ' for ' || kind AS id, day,
           abs(sum(postings)) + abs(sum(credited)) + abs(sum(debited)) AS difference
    FROM sums
    GROUP BY account_id, day, kind
    HAVING sum(postings) <> 0 OR sum(credited) <> 0 OR sum(debited) <> 0
    ORDER BY account_id, day)";
constexpr std::string_view stipend_days_that_differ = R"(
    WITH sums AS (
      SELECT day, postings, debited
      FROM ledger_kind_days
      WHERE account_id = 'treasury' AND kind = 'stipend'
      UNION ALL
      SELECT paid_at / 86400000, -1, -amount
      FROM stipends
    )
    SELECT 'the treasury' AS id, day, abs(sum(postings)) + abs(sum(debited)) AS difference
    FROM sums
    GROUP BY day
    HAVING sum(postings) <> 0 OR sum(debited) <> 0
    ORDER BY day)";
// Only days of which all events are kept are compared (ads/events.h).
constexpr std::string_view ad_days_that_differ = R"(
    WITH since AS (
      SELECT coalesce((SELECT CAST(value AS bigint) FROM meta WHERE key = 'ad_events_since'), 0)
               AS day
    ), sums AS (
      SELECT campaign_id, day, impressions, clicks, spend, viewer_rewards
      FROM ad_days
      WHERE day >= (SELECT day FROM since)
      UNION ALL
      SELECT campaign_id, inserted_at / 86400000,
             CASE WHEN event_type = 'impression' THEN -1 ELSE 0 END,
             CASE WHEN event_type = 'click' THEN -1 ELSE 0 END,
             CASE WHEN event_type = 'impression' THEN -payout_rate_snapshot ELSE 0 END,
             -viewer_reward
      FROM ad_events
      WHERE counted = 1 AND inserted_at / 86400000 >= (SELECT day FROM since)
    )
    SELECT campaign_id AS id, day,
           abs(sum(impressions)) + abs(sum(clicks)) + abs(sum(spend)) + abs(sum(viewer_rewards))
             AS difference
    FROM sums
    GROUP BY campaign_id, day
    HAVING sum(impressions) <> 0 OR sum(clicks) <> 0 OR sum(spend) <> 0
        OR sum(viewer_rewards) <> 0
    ORDER BY campaign_id, day)";

constexpr std::string_view bonuses_that_exceed = R"(
    SELECT id, bonus - balance AS difference
    FROM (
      SELECT a.id, a.bonus,
             a.balance + coalesce((
               SELECT sum(w.amount)
               FROM ledger_pending w
               WHERE w.account_number = a.number), 0) AS balance
      FROM ledger_accounts a
      WHERE a.bonus > 0 AND a.bonus > a.balance
    ) AS balances
    WHERE bonus > balance
    ORDER BY id)";

constexpr std::string_view held_that_exceeds = R"(
    SELECT id, held - balance AS difference
    FROM ledger_accounts
    WHERE held > 0 AND held > balance
    ORDER BY id)";

constexpr std::string_view all_accounts = R"(SELECT count(*) FROM ledger_accounts)";
constexpr std::string_view all_transactions = R"(SELECT count(*) FROM ledger_transactions)";
constexpr std::string_view all_account_days = R"(SELECT count(*) FROM ledger_days)";
constexpr std::string_view all_kind_days = R"(SELECT count(*) FROM ledger_kind_days)";
constexpr std::string_view all_stipend_days = R"(
    SELECT count(*)
    FROM ledger_kind_days
    WHERE account_id = 'treasury' AND kind = 'stipend')";
constexpr std::string_view all_ad_days = R"(
    SELECT count(*)
    FROM ad_days
    WHERE day >= coalesce(
      (SELECT CAST(value AS bigint) FROM meta WHERE key = 'ad_events_since'), 0))";

// `broken` selects the violations, and `all` the number of things that are checked.
AuditPart part_of(const char* name, const char* what, std::int64_t weight, std::string_view broken,
                  std::string_view all) {
  return {.name = name, .what = what, .weight = weight, .run = [broken, all](db::Tx& tx) {
            Finding finding = violations(tx.query(broken));
            finding.checked = tx.number(all);
            return finding;
          }};
}

// The same for statements that also select a day.
AuditPart part_of_days(const char* name, const char* what, std::int64_t weight,
                       std::string_view broken, std::string_view all) {
  return {.name = name, .what = what, .weight = weight, .run = [broken, all](db::Tx& tx) {
            Finding finding;
            auto rows = tx.query(broken);
            while (rows.next())
              finding.add_violation(rows.text("id") + " on " + utc_date(rows.integer("day")) +
                                    " is off by " + rows.text("difference"));
            finding.checked = tx.number(all);
            return finding;
          }};
}

std::string id_of(const db::Query& row) {
  return id_of_parts({.high = row.integer("id_high"), .low = row.integer("id_low")});
}

// The same for statements that select a transaction's id as its parts.
AuditPart part_of_transactions(const char* name, std::int64_t weight, std::string_view broken) {
  return {.name = name, .what = "transactions", .weight = weight, .run = [broken](db::Tx& tx) {
            Finding finding;
            auto rows = tx.query(broken);
            while (rows.next())
              finding.add_violation(id_of(rows) + " is off by " + rows.text("difference"));
            finding.checked = tx.number(all_transactions);
            return finding;
          }};
}

Finding check_charged_transactions(db::Tx& tx) {
  Finding finding;
  auto rows = tx.query(transactions_with_receipts);
  while (rows.next()) {
    const std::string id = id_of(rows);
    if (const std::int64_t charges = charges_with(tx, id); charges != 1)
      finding.add_violation(id + " is off by " + std::to_string(charges - 1));
  }
  finding.checked = tx.number(all_transactions);
  return finding;
}

Finding check_all(db::Tx& tx, const RangeCheck& check) {
  Finding finding = check.broken(tx, "", std::nullopt);
  auto rows = tx.query(check.keys, "", std::numeric_limits<std::int64_t>::max());
  while (rows.next()) ++finding.checked;
  return finding;
}

Finding check_closed_days(db::Tx& tx, std::int64_t after, std::int64_t last) {
  Finding finding;
  for (auto day = next_closed_day(tx, after); day && *day <= last; day = next_closed_day(tx, *day))
    finding.add(check_closed_day(tx, *day));
  return finding;
}

// Closed days in parts with about as many postings each. Other parts compare their rows of days.h.
std::vector<AuditPart> slices_of_closed_days(db::Tx& tx) {
  static constexpr const char* name = "each closed day is what it was closed with";
  const std::int64_t postings =
      tx.number(R"(SELECT coalesce(sum(postings), 0) FROM ledger_closed_days)");
  std::vector<AuditPart> parts;
  std::int64_t after = -1, last = -1, weight = 0;
  const auto end_slice = [&] {
    parts.push_back(
        {.name = name, .what = "closed days", .weight = weight, .run = [after, last](db::Tx& in) {
           return check_closed_days(in, after, last);
         }});
    after = last;
    weight = 0;
  };
  auto rows = tx.query(R"(
      SELECT day, postings
      FROM ledger_closed_days
      WHERE hash IS NOT NULL
      ORDER BY day)");
  while (rows.next()) {
    last = rows.integer("day");
    weight += rows.integer("postings");
    if (weight > postings / most_slices) end_slice();
  }
  if (weight > 0 || parts.empty()) end_slice();
  return parts;
}

std::string detail_of(const Finding& finding, const std::string& what) {
  const std::string scope = std::to_string(finding.checked) + " " + what;
  if (finding.broken == 0) return scope;
  return std::to_string(finding.broken) + " of " + scope + ", the first: " + finding.first;
}

}  // namespace

std::vector<AuditPart> audit_parts(db::Tx& tx) {
  // About how many rows there are: nearly all transactions have one posting with sums by kind.
  const std::int64_t postings =
      2 * tx.number(R"(SELECT coalesce(sum(postings), 0) FROM ledger_kind_days)");
  std::vector<AuditPart> parts = {
      part_of("all balances sum to 0", "accounts", 1, sum_of_balances, all_accounts),
      part_of_transactions("each transaction's postings sum to 0", postings,
                           transactions_that_differ),
      part_of("each balance is the sum of its postings", "accounts", postings, balances_that_differ,
              all_accounts),
      part_of_transactions("each transaction has postings", postings,
                           transactions_without_postings),
      part_of("each account's points in and out are its newest day's and give its balance",
              "accounts", 1, totals_that_differ, all_accounts),
      part_of("no account has more bonus than points", "accounts", 1, bonuses_that_exceed,
              all_accounts),
      part_of("no account has more points held than it has", "accounts", 1, held_that_exceeds,
              all_accounts),
      part_of_days("each day's sums of an account are its postings", "days of accounts",
                   postings * 2, day_sums_that_differ, all_account_days),
      part_of_days("each day's sums by kind are its postings", "days of kinds", postings,
                   kind_sums_that_differ, all_kind_days),
      {.name = "each pending credit is a posting", .what = "pending credits", .run = check_pending},
      {.name = "closed days are chained", .what = "closed days", .run = [](db::Tx& in) {
         return check_chain(in);
       }}};
  for (AuditPart& slice : slices_of_closed_days(tx)) parts.push_back(std::move(slice));
  for (const RangeCheck& check : range_checks())
    parts.push_back({.name = check.name, .what = check.what, .run = [&check](db::Tx& in) {
                       return check_all(in, check);
                     }});
  parts.push_back({.name = "each transaction of a charge, a refund or a claw-back is one of these",
                   .what = "transactions",
                   .weight = postings / 4,
                   .run = check_charged_transactions});
  parts.push_back(part_of_days("each day's stipends are what the treasury paid for them",
                               "days of stipends", 1, stipend_days_that_differ, all_stipend_days));
  parts.push_back(part_of_days("each campaign's days are the sums of its events",
                               "days of campaigns", postings, ad_days_that_differ, all_ad_days));
  return parts;
}

std::vector<Check> checks_of(const std::vector<AuditPart>& parts,
                             const std::vector<Finding>& findings) {
  std::vector<Check> checks;
  Finding sum;
  for (size_t i = 0; i < parts.size(); ++i) {
    sum.add(findings[i]);
    if (i + 1 < parts.size() && std::string_view(parts[i + 1].name) == parts[i].name) continue;
    checks.push_back(
        {.name = parts[i].name, .ok = sum.broken == 0, .detail = detail_of(sum, parts[i].what)});
    sum = {};
  }
  return checks;
}

std::vector<Check> audit(db::Tx& tx) {
  const std::vector<AuditPart> parts = audit_parts(tx);
  std::vector<Finding> findings;
  findings.reserve(parts.size());
  for (const AuditPart& part : parts) findings.push_back(part.run(tx));
  return checks_of(parts, findings);
}

}  // namespace berth::ledger
