#include "controller/domain/points/points.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/domain/accounts/guests.h"
#include "controller/domain/apps/members.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/points/refunds.h"
#include "controller/domain/social/blocks.h"
#include "controller/domain/social/user_search.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::points {
namespace {

// The kinds of transactions that bring an app what it earns.
constexpr std::array<std::string_view, 2> earnings = {"spend", "impression"};

// Counts what a user whom somebody has referred, and for whom nobody was rewarded yet, has spent of
// their own points.
db::Query referral_count(db::Tx& tx, const Spending& spending, std::int64_t own) {
  return tx.query_later(R"(
      UPDATE users
      SET referral_spent = CASE WHEN referral_spent + $2 < $4 THEN referral_spent + $2
                                ELSE $4 END
      WHERE id = $1
        AND referred_by IS NOT NULL
        AND referral_rewarded_at IS NULL
        AND is_returning = 0
        AND NOT EXISTS (
          SELECT 1
          FROM apps a
          WHERE a.id = $3 AND a.owner_id IN (users.id, users.referred_by)))",
                        spending.user_id, own, spending.app_id, ledger::max_points);
}

// Rewards the referrer once the spending that was counted is enough. If the reward is refused (a
// cap, an empty treasury), the user's next spending tries again.
void consider_referral(db::Tx& tx, const Spending& spending, const rewards::Rules& rules) {
  std::string referrer;
  {
    auto rows = tx.query(R"(
        SELECT u.referred_by
        FROM users u
        WHERE u.id = $1
          AND u.email_verified_at IS NOT NULL
          AND u.referral_spent >= $2)",
                         spending.user_id, referral_use);
    if (!rows.next()) return;
    referrer = rows.text("referred_by");
  }
  const rewards::Outcome outcome =
      rewards::pay(tx, rules,
                   {.kind = rewards::Kind::referral,
                    .user_id = referrer,
                    .app_owner_id = {},
                    .amount = rules.referral,
                    .memo = "somebody whom you referred uses the service"});
  if (outcome.points > 0)
    tx.require_change(R"(
        UPDATE users
        SET referral_rewarded_at = $2
        WHERE id = $1 AND referral_rewarded_at IS NULL)",
                      spending.user_id, tx.now());
}

std::string find_recipient(db::Tx& tx, const std::string& from_user_id, const Recipient& to) {
  if (to.user_id.has_value() == to.username.has_value())
    throw Error(Code::validation_failed, "either to_user_id or to_username is required",
                {{"to_user_id", {"is required, or to_username, but not both"}}});
  const auto named = to.username ? user_search::find(tx, *to.username) : std::nullopt;
  if (to.username && !named) throw Error(Code::user_not_found, "there is no such user");
  const std::string id = named ? named->id : *to.user_id;
  blocks::require_visible(tx, from_user_id, id);
  return id;
}

// The last digit of a transaction's id is random.
void tell(db::Tx& tx, const Spending& spending, const std::string& spend_id) {
  static_assert(spend_orders == 16);
  webhooks::emit(tx, spending.app_id, webhooks::spend_type,
                 "spends:" + spending.app_id + ":" + spend_id.back(),
                 {{"spend_id", spend_id},
                  {"user_id", spending.user_id},
                  {"amount", spending.amount},
                  {"description", spending.description}});
}

// What an account's owner sees of the postings of a page. The counterparty is the account whose
// posting has the same size and the opposite sign. `page` has nothing but keys, so that it is read
// from one index.
const std::string select_entries = R"(
      SELECT t.id_high, t.id_low, k.kind, p.amount, t.memo, o.kind AS other_kind,
             o.owner AS other_owner, coalesce(u.username, a.app_name) AS other_name,
             page.transaction_number AS number, page.leg AS leg)";
const std::string counterparties = R"(
      JOIN ledger_postings p ON p.account_number = $1 AND p.incoming = page.incoming
        AND p.transaction_number = page.transaction_number AND p.leg = page.leg
      JOIN ledger_transactions t ON t.number = page.transaction_number
      JOIN ledger_kinds k ON k.number = t.kind
      LEFT JOIN ledger_accounts o ON o.number = (
        SELECT q.account_number
        FROM ledger_postings q
        WHERE q.transaction_number = page.transaction_number AND q.amount = -p.amount
        ORDER BY q.leg
        LIMIT 1)
      LEFT JOIN users g ON o.kind = 'user' AND g.id = o.owner
      LEFT JOIN users u ON u.id = coalesce(g.merged_into, g.id) AND u.deleted_at IS NULL
      LEFT JOIN apps a ON o.kind = 'app' AND a.id = o.owner AND a.deleted_at IS NULL
      ORDER BY page.transaction_number DESC, page.leg DESC)";
const std::vector<SortColumn> newest_first = {{SortColumn::Type::integer, "number"},
                                              {SortColumn::Type::integer, "leg"}};

// Incoming and outgoing postings have separate ranges of the key, so that the rarer direction is
// found at once, too. $1 is the account's number, $2 the direction that is left out (empty: none),
// $3 and $4 are the ends of the time, as numbers of transactions. The unary plus keeps SQLite from
// starting at $4, which is never before the position.
const ListSql entries = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM ledger_postings
            WHERE account_number = $1 AND incoming = 1 AND $2 <> 'in'
              AND transaction_number >= $3 AND transaction_number < $4
            UNION ALL
            SELECT 1
            FROM ledger_postings
            WHERE account_number = $1 AND incoming = 0 AND $2 <> 'out'
              AND transaction_number >= $3 AND transaction_number < $4
            LIMIT $5) counted)",
                         .rows = select_entries + R"(
      FROM (SELECT transaction_number, leg, incoming
            FROM (SELECT transaction_number, leg, incoming
                  FROM ledger_postings
                  WHERE account_number = $1 AND incoming = 1 AND $2 <> 'in'
                    AND transaction_number >= $3 AND +transaction_number < $4
                    AND (transaction_number, leg) < ($5, $6)
                  ORDER BY transaction_number DESC, leg DESC
                  LIMIT CAST($7 AS bigint) + $8) incoming
            UNION ALL
            SELECT transaction_number, leg, incoming
            FROM (SELECT transaction_number, leg, incoming
                  FROM ledger_postings
                  WHERE account_number = $1 AND incoming = 0 AND $2 <> 'out'
                    AND transaction_number >= $3 AND +transaction_number < $4
                    AND (transaction_number, leg) < ($5, $6)
                  ORDER BY transaction_number DESC, leg DESC
                  LIMIT CAST($7 AS bigint) + $8) outgoing
            ORDER BY transaction_number DESC, leg DESC
            LIMIT $7 OFFSET $8) page)" +
                                 counterparties,
                         .sorted_by = newest_first};

// The same of one kind, whose number is $5.
const ListSql entries_of_kind = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM ledger_postings
            WHERE account_number = $1 AND kind = $5 AND incoming = 1 AND $2 <> 'in'
              AND transaction_number >= $3 AND transaction_number < $4
            UNION ALL
            SELECT 1
            FROM ledger_postings
            WHERE account_number = $1 AND kind = $5 AND incoming = 0 AND $2 <> 'out'
              AND transaction_number >= $3 AND transaction_number < $4
            LIMIT $6) counted)",
                                 .rows = select_entries + R"(
      FROM (SELECT transaction_number, leg, incoming
            FROM (SELECT transaction_number, leg, incoming
                  FROM ledger_postings
                  WHERE account_number = $1 AND kind = $5 AND incoming = 1 AND $2 <> 'in'
                    AND transaction_number >= $3 AND +transaction_number < $4
                    AND (transaction_number, leg) < ($6, $7)
                  ORDER BY transaction_number DESC, leg DESC
                  LIMIT CAST($8 AS bigint) + $9) incoming
            UNION ALL
            SELECT transaction_number, leg, incoming
            FROM (SELECT transaction_number, leg, incoming
                  FROM ledger_postings
                  WHERE account_number = $1 AND kind = $5 AND incoming = 0 AND $2 <> 'out'
                    AND transaction_number >= $3 AND +transaction_number < $4
                    AND (transaction_number, leg) < ($6, $7)
                  ORDER BY transaction_number DESC, leg DESC
                  LIMIT CAST($8 AS bigint) + $9) outgoing
            ORDER BY transaction_number DESC, leg DESC
            LIMIT $8 OFFSET $9) page)" + counterparties,
                                 .sorted_by = newest_first};

Entry entry_of(const db::Query& row) {
  return {.transaction_id =
              ledger::id_of_parts({.high = row.integer("id_high"), .low = row.integer("id_low")}),
          .kind = row.text("kind"),
          .amount = row.integer("amount"),
          .description = row.text("memo"),
          .counterparty = {.kind = row.text("other_kind"), .owner = row.text("other_owner")},
          .counterparty_name = row.text_or_null("other_name"),
          .at = ledger::time_of_number(row.integer("number"))};
}

std::string_view without_direction(const std::optional<Direction>& wanted) {
  if (!wanted) return "";
  return *wanted == Direction::in ? "out" : "in";
}

// Returns 0 for a kind of which there is no transaction yet.
std::int64_t number_of_kind(db::Tx& tx, const std::string& kind) {
  const std::int64_t number = ledger::kind_number(tx, kind);
  if (number == 0 && std::ranges::find(kinds_of_users, kind) == kinds_of_users.end()) {
    std::string known;
    for (const std::string_view one : kinds_of_users)
      known.append(known.empty() ? "" : ", ").append(one);
    throw invalid_field("kind", "must be one of " + known);
  }
  return number;
}

}  // namespace

Spent spend(db::Tx& tx, const Spending& spending, const rewards::Rules& rules) {
  const ledger::Account user = ledger::user_account(spending.user_id);
  auto taken = debits::begin(tx, {.user_id = spending.user_id, .grant_id = spending.grant_id},
                             {.kind = "spend",
                              .to = ledger::app_account(spending.app_id),
                              .reaches = spending.in_own_app ? spending.user_id : "",
                              .amount = spending.amount,
                              .memo = spending.description});
  // On PostgreSQL these two statements and the one that checks the limit take one round trip
  // together. The reward doesn't change the balance that they read, because it is paid to the
  // referrer.
  auto referral = referral_count(tx, spending, taken.own);
  auto left = ledger::balance_later(tx, user);
  debits::finish(taken);
  const bool is_referral = referral.run() > 0;
  if (is_referral) consider_referral(tx, spending, rules);
  remember(tx, {.spend_id = taken.transaction_id,
                .user_id = spending.user_id,
                .amount = spending.amount,
                .bonus = spending.amount - taken.own,
                .own_use = taken.own_use,
                .referral = is_referral ? taken.own : 0});
  // Last, because whoever adds an event makes others who do so wait for the end of the write.
  if (spending.is_told) tell(tx, spending, taken.transaction_id);
  return {.id = taken.transaction_id, .balance = left.next() ? left.integer("points") : 0};
}

std::int64_t transfer(db::Tx& tx, const debits::Payer& from, const Recipient& to,
                      std::int64_t amount, const std::string& description) {
  const std::string recipient = find_recipient(tx, from.user_id, to);
  if (recipient == from.user_id)
    throw invalid_field(to.user_id ? "to_user_id" : "to_username", "must be another user's");
  guests::require_none(tx, from.user_id, recipient);
  debits::take(tx, from,
               {.kind = "transfer",
                .to = ledger::user_account(recipient),
                .reaches = recipient,
                .amount = amount,
                .memo = description});
  return ledger::balance(tx, ledger::user_account(from.user_id));
}

ToppedUp top_up(db::Tx& tx, const debits::Payer& from, const std::string& app_id,
                std::int64_t amount, const std::string& description) {
  const apps::App app = apps::require_member(tx, from.user_id, app_id, apps::Role::billing);
  const ledger::Account account = ledger::app_account(app.id);
  auto taken = debits::begin(tx, from,
                             {.kind = "top_up",
                              .to = account,
                              .reaches = app.owner_id,
                              .amount = amount,
                              .memo = description});
  debits::finish(taken);
  return {.id = taken.transaction_id,
          .balance = ledger::balance(tx, ledger::user_account(from.user_id)),
          .app_balance = ledger::balance(tx, account)};
}

Page<Entry> history(db::Tx& tx, const ledger::Account& account, const Filter& filter,
                    const PageRequest& page) {
  PageRequest request = page;
  const std::int64_t from = ledger::first_number(filter.from.value_or(from_millis(0)));
  const std::int64_t until =
      filter.until ? ledger::first_number(*filter.until) : std::numeric_limits<std::int64_t>::max();
  // The end of the time is where the first page begins, because entries come newest first.
  if (filter.until) request.first = {until, std::numeric_limits<std::int64_t>::min()};
  const std::int64_t number = ledger::account_number(tx, account);
  const auto without = without_direction(filter.direction);
  const std::int64_t kind = filter.kind ? number_of_kind(tx, *filter.kind) : 0;
  return filter.kind
             ? read_page(tx, entries_of_kind, request, entry_of, number, without, from, until, kind)
             : read_page(tx, entries, request, entry_of, number, without, from, until);
}

std::int64_t earned_by(const ledger::KindDay& sums) {
  if (sums.kind == "refund") return -sums.sum.debited;
  if (sums.kind == "claw_back") return sums.sum.credited;  // refunds that came back
  return std::ranges::find(earnings, sums.kind) != earnings.end() ? sums.sum.credited : 0;
}

Analytics analytics(db::Tx& tx, const std::string& app_id, int window_days) {
  using std::chrono::days;
  const std::int64_t today = utc_day(tx.now());
  const auto sums =
      ledger::sums_of_kinds(tx, ledger::app_account(app_id), today - window_days + 1, today);
  const auto posted = [&](std::string_view kind) {
    const auto found = sums.find(kind);
    return found == sums.end() ? ledger::KindSum() : found->second;
  };
  // These statements read only users who came or were active lately. The "+ 0" keeps the second one
  // from reading, by the index of connections, everybody who came long ago.
  const auto came_after = [&](Instant when) {
    return tx.number(R"(
        SELECT count(*)
        FROM grants
        WHERE app_id = $1 AND scopes <> '' AND connected_at > $2)",
                     app_id, when);
  };
  const auto active_since = [&](Instant when, Instant connected_before) {
    return tx.number(R"(
        SELECT count(*)
        FROM grants
        WHERE app_id = $1
          AND scopes <> ''
          AND coalesce(last_used_at, connected_at) >= $2
          AND connected_at + 0 <= $3)",
                     app_id, when, connected_before);
  };
  std::int64_t earned = 0;
  for (const auto& [kind, sum] : sums)
    earned += earned_by({.day = today, .kind = kind, .sum = sum});
  const std::int64_t users = apps::count_users(tx, app_id);
  const Instant week_ago = tx.now() - days(7);
  const std::int64_t week_old = users - came_after(week_ago);
  return {.total_users = users,
          .total_spends = posted("spend").postings,
          .total_awards = posted("mint").postings,
          .earnings = earned,
          .daily_active_users = active_since(tx.now() - days(1), tx.now()),
          .retention_7d = week_old == 0 ? 0
                                        : double(active_since(
                                              week_ago + std::chrono::milliseconds(1), week_ago)) /
                                              double(week_old)};
}

}  // namespace berth::points
