#include "controller/domain/ledger/range_checks.h"

#include <algorithm>
#include <array>

#include "controller/domain/ledger/numbers.h"

namespace berth::ledger {
namespace {

// Reservation accounts are found by their ids, which begin with "reservation".
constexpr std::string_view reservations_that_differ = R"(
    SELECT id, balance - held AS difference
    FROM (
      SELECT a.id, a.balance,
             coalesce((SELECT sum(h.amount)
                       FROM ledger_holds h
                       WHERE h.held_id = a.id AND h.state = 'open'), 0) AS held
      FROM ledger_accounts a
      WHERE a.id >= 'reservation' AND a.id < 'reservation;'
        AND a.id > $1 AND (a.id <= $2 OR $2 IS NULL)
    ) AS reservations
    WHERE balance <> held
    ORDER BY id)";
constexpr std::string_view reservations = R"(
    SELECT id
    FROM ledger_accounts
    WHERE id >= 'reservation' AND id < 'reservation;' AND id > $1
    ORDER BY id
    LIMIT $2)";

// What deployments were charged and credited, with the account of their app.
constexpr std::string_view charges = R"(
    SELECT m.deployment_id AS id, m.transaction_id, m.amount, a.number AS account
    FROM (
      SELECT deployment_id, transaction_id, amount
      FROM deployment_charges
      WHERE deployment_id > $1 AND (deployment_id <= $2 OR $2 IS NULL)
      UNION ALL
      SELECT deployment_id, transaction_id, amount
      FROM deployment_tier_changes
      WHERE deployment_id > $1 AND (deployment_id <= $2 OR $2 IS NULL)
      UNION ALL
      SELECT deployment_id, transaction_id, -amount
      FROM deployment_refunds
      WHERE deployment_id > $1 AND (deployment_id <= $2 OR $2 IS NULL)
    ) AS m
    JOIN deployments d ON d.id = m.deployment_id
    LEFT JOIN ledger_accounts a ON a.id = 'app:' || d.app_id)";
constexpr std::string_view deployments = R"(
    SELECT id
    FROM deployments
    WHERE id > $1
    ORDER BY id
    LIMIT $2)";

// What builds were charged, in the same form.
constexpr std::string_view charges_of_builds = R"(
    SELECT b.build_id AS id, b.transaction_id, b.amount, a.number AS account
    FROM build_charges b
    LEFT JOIN ledger_accounts a ON a.id = 'app:' || b.app_id
    WHERE b.build_id > $1 AND (b.build_id <= $2 OR $2 IS NULL))";
constexpr std::string_view builds = R"(
    SELECT build_id AS id
    FROM build_charges
    WHERE build_id > $1
    ORDER BY build_id
    LIMIT $2)";

// What apps were charged for what ran by the hour, in the same form. Receipts are kept longer than
// the days that say for which deployments they were, so the two are compared for as many days as
// are certainly there.
constexpr std::string_view settlements = R"(
    SELECT s.app_id AS id, s.transaction_id, s.points AS amount, a.number AS account
    FROM meter_settlements s
    LEFT JOIN ledger_accounts a ON a.id = 'app:' || s.app_id
    WHERE s.app_id > $1 AND (s.app_id <= $2 OR $2 IS NULL))";
constexpr std::string_view settlements_that_differ = R"(
    SELECT id, settled - used AS difference
    FROM (
      SELECT m.app_id AS id,
             coalesce((SELECT sum(s.points)
                       FROM meter_settlements s
                       WHERE s.app_id = m.app_id
                         AND s.day > (SELECT max(day) - 300 FROM ledger_kind_days)), 0) AS settled,
             coalesce((SELECT sum(u.points)
                       FROM deployments d
                       JOIN meter_days u ON u.deployment_id = d.id
                       WHERE d.app_id = m.app_id
                         AND u.day > (SELECT max(day) - 300 FROM ledger_kind_days)), 0) AS used
      FROM meter_apps m
      WHERE m.app_id > $1 AND (m.app_id <= $2 OR $2 IS NULL)
    ) AS apps
    WHERE settled <> used
    ORDER BY id)";
constexpr std::string_view metered_apps = R"(
    SELECT app_id AS id
    FROM meter_apps
    WHERE app_id > $1
    ORDER BY app_id
    LIMIT $2)";

// What users spent and got back, in the same form with the user's account. Spends that have a row
// are compared with it.
constexpr std::string_view spends_and_refunds = R"(
    SELECT m.spend_id AS id, m.transaction_id, m.amount, a.number AS account
    FROM (
      SELECT id AS spend_id, id AS transaction_id, amount, user_id
      FROM refundable_spends
      WHERE id > $1 AND (id <= $2 OR $2 IS NULL)
      UNION ALL
      SELECT r.spend_id, r.id, -r.amount, s.user_id
      FROM refunds r
      JOIN refundable_spends s ON s.id = r.spend_id
      WHERE r.spend_id > $1 AND (r.spend_id <= $2 OR $2 IS NULL)
    ) AS m
    LEFT JOIN ledger_accounts a ON a.id = 'user:' || m.user_id)";
constexpr std::string_view refunds_that_differ = R"(
    SELECT id, refunded - given_back AS difference
    FROM (
      SELECT s.id, s.refunded, coalesce((
          SELECT sum(r.amount)
          FROM refunds r
          WHERE r.spend_id = s.id), 0) AS given_back
      FROM refundable_spends s
      WHERE s.id > $1 AND (s.id <= $2 OR $2 IS NULL)
    ) AS spends
    WHERE refunded <> given_back
    ORDER BY id)";
constexpr std::string_view spends = R"(
    SELECT id
    FROM refundable_spends
    WHERE id > $1
    ORDER BY id
    LIMIT $2)";

constexpr std::string_view claw_backs = R"(
    SELECT id
    FROM claw_backs
    WHERE id > $1
    ORDER BY id
    LIMIT $2)";

constexpr std::string_view payments_that_differ = R"(
    SELECT id, total_payment - rake - budget AS difference
    FROM campaigns
    WHERE total_payment <> rake + budget AND id > $1 AND (id <= $2 OR $2 IS NULL)
    ORDER BY id)";
constexpr std::string_view budgets_that_differ = R"(
    SELECT id, gone - held AS difference
    FROM (
      SELECT c.id, c.budget - c.spent - c.refunded AS gone, coalesce((
          SELECT sum(a.balance)
          FROM ledger_accounts a
          WHERE a.id IN ('campaign:' || c.id, 'reservation:' || c.id)), 0) AS held
      FROM campaigns c
      WHERE c.id > $1 AND (c.id <= $2 OR $2 IS NULL)
    ) AS budgets
    WHERE gone <> held
    ORDER BY id)";
constexpr std::string_view payouts_that_differ = R"(
    SELECT id, spent - paid AS difference
    FROM (
      SELECT c.id, c.spent, coalesce((
          SELECT sum(d.spend)
          FROM ad_days d
          WHERE d.campaign_id = c.id), 0) AS paid
      FROM campaigns c
      WHERE c.id > $1 AND (c.id <= $2 OR $2 IS NULL)
    ) AS payouts
    WHERE spent <> paid
    ORDER BY id)";
constexpr std::string_view viewer_rewards_that_differ = R"(
    SELECT id, viewer_rewards - rewarded AS difference
    FROM (
      SELECT c.id, c.viewer_rewards, c.rake, coalesce((
          SELECT sum(d.viewer_rewards)
          FROM ad_days d
          WHERE d.campaign_id = c.id), 0) AS rewarded
      FROM campaigns c
      WHERE c.id > $1 AND (c.id <= $2 OR $2 IS NULL)
    ) AS rewards
    WHERE viewer_rewards <> rewarded OR viewer_rewards > rake
    ORDER BY id)";
constexpr std::string_view campaigns = R"(
    SELECT id
    FROM campaigns
    WHERE id > $1
    ORDER BY id
    LIMIT $2)";

// What a transaction posted on an account; 0 if there is no such transaction. The "+ 0" keeps the
// statement from reading all that was ever posted on the account.
std::int64_t posted_by(db::Tx& tx, const std::string& transaction_id, std::int64_t account) {
  const IdParts id = parts_of_id(transaction_id);
  const std::int64_t first = first_number(time_of_id(id));
  return tx.number(R"(
      SELECT coalesce(sum(p.amount), 0)
      FROM ledger_transactions t
      JOIN ledger_postings p ON p.transaction_number = t.number
      WHERE t.number >= $1 AND t.number < $2 AND t.id_high = $3 AND t.id_low = $4
        AND p.account_number + 0 = $5)",
                   first, first + places, id.high, id.low, account);
}

// Compares what was charged or spent, and given back, with what was posted for it.
template <const std::string_view& sql>
Finding charges_without_transaction(db::Tx& tx, const std::string& begin,
                                    const std::optional<std::string>& end) {
  Finding finding;
  auto rows = tx.query(sql, begin, end);
  while (rows.next()) {
    const auto id = rows.text_or_null("transaction_id");
    const std::int64_t points = id ? posted_by(tx, *id, rows.integer("account")) : 0;
    if (const std::int64_t difference = rows.integer("amount") + points; difference != 0)
      finding.add_violation(rows.text("id") + " is off by " + std::to_string(difference));
  }
  return finding;
}

// What a transaction with one movement gave, and to which account. Nothing if there is no such one.
struct Gift {
  std::int64_t account = 0;
  std::int64_t amount = 0;
};
std::optional<Gift> gift_of(db::Tx& tx, const std::string& transaction_id) {
  const IdParts id = parts_of_id(transaction_id);
  const std::int64_t first = first_number(time_of_id(id));
  auto rows = tx.query(R"(
      SELECT p.account_number, p.amount
      FROM ledger_transactions t
      JOIN ledger_postings p ON p.transaction_number = t.number AND p.amount > 0
      WHERE t.number >= $1 AND t.number < $2 AND t.id_high = $3 AND t.id_low = $4)",
                       first, first + places, id.high, id.low);
  if (!rows.next()) return std::nullopt;
  return Gift{.account = rows.integer("account_number"), .amount = rows.integer("amount")};
}

// Each claw-back has taken its amount from the account that had got the points, and all claw-backs
// of a transaction together have taken no more than it gave.
Finding claw_backs_that_differ(db::Tx& tx, const std::string& begin,
                               const std::optional<std::string>& end) {
  Finding finding;
  auto rows = tx.query(R"(
      SELECT c.id, c.transaction_id, c.amount, (
          SELECT sum(o.amount)
          FROM claw_backs o
          WHERE o.transaction_id = c.transaction_id) AS taken_back
      FROM claw_backs c
      WHERE c.id > $1 AND (c.id <= $2 OR $2 IS NULL)
      ORDER BY c.id)",
                       begin, end);
  while (rows.next()) {
    const std::string id = rows.text("id");
    const Gift gift = gift_of(tx, rows.text("transaction_id")).value_or(Gift{});
    const std::int64_t difference = rows.integer("amount") + posted_by(tx, id, gift.account);
    const std::int64_t excess = std::max(rows.integer("taken_back") - gift.amount, std::int64_t(0));
    if (difference != 0 || excess != 0)
      finding.add_violation(id + " is off by " +
                            std::to_string(difference != 0 ? difference : excess));
  }
  return finding;
}

template <const std::string_view& sql>
Finding select(db::Tx& tx, const std::string& begin, const std::optional<std::string>& end) {
  return violations(tx.query(sql, begin, end));
}

constexpr std::array all = {
    RangeCheck{.name = "each reservation is the sum of its open holds",
               .what = "reservations",
               .broken = select<reservations_that_differ>,
               .keys = reservations},
    RangeCheck{.name = "each charge of a deployment is its ledger transaction",
               .what = "deployments",
               .broken = charges_without_transaction<charges>,
               .keys = deployments},
    RangeCheck{.name = "each charge of a build is its ledger transaction",
               .what = "builds",
               .broken = charges_without_transaction<charges_of_builds>,
               .keys = builds},
    RangeCheck{.name = "each charge by the hour is its ledger transaction",
               .what = "metered apps",
               .broken = charges_without_transaction<settlements>,
               .keys = metered_apps},
    RangeCheck{.name = "each app was charged by the hour what its deployments' days say",
               .what = "metered apps",
               .broken = select<settlements_that_differ>,
               .keys = metered_apps},
    RangeCheck{.name = "each spend that may be given back, and each refund, is its transaction",
               .what = "spends",
               .broken = charges_without_transaction<spends_and_refunds>,
               .keys = spends},
    RangeCheck{.name = "each spend's refunds are what was given back of it",
               .what = "spends",
               .broken = select<refunds_that_differ>,
               .keys = spends},
    RangeCheck{.name = "each claw-back is its transaction and takes no more than was given",
               .what = "claw-backs",
               .broken = claw_backs_that_differ,
               .keys = claw_backs},
    RangeCheck{.name = "each campaign's payments are rake and budget",
               .what = "campaigns",
               .broken = select<payments_that_differ>,
               .keys = campaigns},
    RangeCheck{.name = "each campaign's budget is paid, refunded, reserved or remaining",
               .what = "campaigns",
               .broken = select<budgets_that_differ>,
               .keys = campaigns},
    RangeCheck{.name = "each campaign has paid the payouts of its paid impressions",
               .what = "campaigns",
               .broken = select<payouts_that_differ>,
               .keys = campaigns},
    RangeCheck{.name = "each campaign's viewers got what its events say, and no more than its rake",
               .what = "campaigns",
               .broken = select<viewer_rewards_that_differ>,
               .keys = campaigns},
};

}  // namespace

std::span<const RangeCheck> range_checks() { return all; }

Finding violations(db::Query rows) {
  Finding finding;
  while (rows.next())
    finding.add_violation(rows.text("id") + " is off by " + rows.text("difference"));
  return finding;
}

std::int64_t charges_with(db::Tx& tx, const std::string& transaction_id) {
  return tx.number(R"(
      SELECT (SELECT count(*) FROM deployment_charges WHERE transaction_id = $1)
           + (SELECT count(*) FROM deployment_tier_changes WHERE transaction_id = $1)
           + (SELECT count(*) FROM deployment_refunds WHERE transaction_id = $1)
           + (SELECT count(*) FROM build_charges WHERE transaction_id = $1)
           + (SELECT count(*) FROM meter_settlements WHERE transaction_id = $1)
           + (SELECT count(*) FROM refunds WHERE id = $1)
           + (SELECT count(*) FROM claw_backs WHERE id = $1))",
                   transaction_id);
}

Finding check_some(db::Tx& tx, const RangeCheck& check, std::string& position, int limit) {
  const std::string begin = position;
  std::int64_t seen = 0;
  {
    auto rows = tx.query(check.keys, begin, limit);
    for (; rows.next(); ++seen) position = rows.text("id");
  }
  Finding finding;
  if (seen > 0) finding = check.broken(tx, begin, position);
  finding.checked = seen;
  return finding;
}

}  // namespace berth::ledger
