#include "controller/domain/points/points.h"

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/social/blocks.h"
#include "controller/domain/social/user_search.h"

namespace berth::points {
namespace {

Error too_little() { return {Code::insufficient_balance, "the balance is lower than the amount"}; }

// Counts the spending of a referred user, and rewards the referrer once it is enough. If the reward
// is refused (a cap, an empty treasury), the user's next spending tries again.
void consider_referral(db::Tx& tx, const Spending& spending, const rewards::Rules& rules) {
  const int counted =
      tx.execute(R"(
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
                 spending.user_id, spending.amount, spending.app_id, ledger::max_points);
  if (counted == 0) return;
  std::string referrer;
  {
    auto rows = tx.query(R"(
        SELECT u.referred_by
        FROM users u
        WHERE u.id = $1
          AND u.email_verified_at IS NOT NULL
          AND u.referral_spent - u.free_points >= $2)",
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
    tx.execute(R"(
        UPDATE users
        SET referral_rewarded_at = $2
        WHERE id = $1)",
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

}  // namespace

std::int64_t spend(db::Tx& tx, const Spending& spending, const rewards::Rules& rules) {
  const ledger::Account user = ledger::user_account(spending.user_id);
  if (!ledger::post(tx, {.kind = "spend",
                         .from = user,
                         .to = ledger::app_account(spending.app_id),
                         .amount = spending.amount,
                         .memo = spending.description}))
    throw too_little();
  connections::count_spending(tx, spending.grant_id, spending.amount);
  consider_referral(tx, spending, rules);
  return ledger::balance(tx, user);
}

std::int64_t transfer(db::Tx& tx, const std::string& from_user_id, const Recipient& to,
                      std::int64_t amount, const std::string& description) {
  const std::string recipient = find_recipient(tx, from_user_id, to);
  if (recipient == from_user_id)
    throw invalid_field(to.user_id ? "to_user_id" : "to_username", "must be another user's");
  const ledger::Account from = ledger::user_account(from_user_id);
  if (!ledger::post(tx, {.kind = "transfer",
                         .from = from,
                         .to = ledger::user_account(recipient),
                         .amount = amount,
                         .memo = description}))
    throw too_little();
  return ledger::balance(tx, from);
}

Page<Entry> history(db::Tx& tx, const ledger::Account& account, const Filter& filter,
                    const PageRequest& page) {
  static const std::string matching = R"(
      WHERE p.account_id = $1
        AND (t.kind = $2 OR $2 IS NULL)
        AND (CASE WHEN p.amount > 0 THEN 1 ELSE 0 END = $3 OR $3 IS NULL)
        AND (t.at >= $4 OR $4 IS NULL)
        AND (t.at < $5 OR $5 IS NULL))";
  static const std::string count = R"(
      SELECT count(*)
      FROM ledger_postings p
      JOIN ledger_transactions t ON t.id = p.transaction_id)" +
                                   matching;
  // The counterparty is the account whose posting has the same size and the opposite sign.
  static const std::string select = R"(
      SELECT t.id, t.kind, p.amount, t.memo, o.kind AS other_kind, o.owner AS other_owner,
             coalesce(u.username, a.app_name) AS other_name, t.at
      FROM ledger_postings p
      JOIN ledger_transactions t ON t.id = p.transaction_id
      LEFT JOIN ledger_accounts o ON o.id = (
        SELECT q.account_id
        FROM ledger_postings q
        WHERE q.transaction_id = p.transaction_id AND q.amount = -p.amount
        ORDER BY q.id
        LIMIT 1)
      LEFT JOIN users u ON o.kind = 'user' AND u.id = o.owner AND u.deleted_at IS NULL
      LEFT JOIN apps a ON o.kind = 'app' AND a.id = o.owner AND a.deleted_at IS NULL)" +
                                    matching + R"(
      ORDER BY p.id DESC
      LIMIT $6 OFFSET $7)";
  const std::optional<bool> incoming =
      filter.direction ? std::optional(*filter.direction == Direction::in) : std::nullopt;
  Page<Entry> result = {
      .items = {},
      .page = page.page,
      .page_size = page.page_size,
      .total = tx.number(count, account.id(), filter.kind, incoming, filter.from, filter.until)};
  auto rows = tx.query(select, account.id(), filter.kind, incoming, filter.from, filter.until,
                       page.page_size, page.offset());
  while (rows.next())
    result.items.push_back(
        {.transaction_id = rows.text("id"),
         .kind = rows.text("kind"),
         .amount = rows.integer("amount"),
         .description = rows.text("memo"),
         .counterparty = {.kind = rows.text("other_kind"), .owner = rows.text("other_owner")},
         .counterparty_name = rows.text_or_null("other_name"),
         .at = rows.instant("at")});
  return result;
}

Analytics analytics(db::Tx& tx, const std::string& app_id, int window_days) {
  using std::chrono::days;
  const std::string account = ledger::app_account(app_id).id();
  const Instant since = tx.now() - days(window_days);
  auto postings = tx.query(R"(
      SELECT count(CASE WHEN t.kind = 'spend' THEN 1 END) AS spends,
             count(CASE WHEN t.kind = 'mint' THEN 1 END) AS awards,
             coalesce(sum(CASE WHEN t.kind <> 'mint' THEN p.amount END), 0) AS earnings
      FROM ledger_postings p
      JOIN ledger_transactions t ON t.id = p.transaction_id
      WHERE p.account_id = $1 AND t.at >= $2 AND p.amount > 0
        AND t.kind IN ('spend', 'mint', 'impression'))",
                           account, since);
  postings.next();
  const auto users = [&](Instant connected_before, Instant used_since) {
    return tx.number(R"(
        SELECT count(*)
        FROM grants
        WHERE app_id = $1
          AND scopes <> ''
          AND connected_at <= $2
          AND coalesce(last_used_at, connected_at) >= $3)",
                     app_id, connected_before, used_since);
  };
  const Instant week_ago = tx.now() - days(7);
  const std::int64_t week_old = users(week_ago, from_millis(0));
  return {.total_users = apps::count_users(tx, app_id),
          .total_spends = postings.integer("spends"),
          .total_awards = postings.integer("awards"),
          .earnings = postings.integer("earnings"),
          .daily_active_users = users(tx.now(), tx.now() - days(1)),
          .retention_7d = week_old == 0
                              ? 0
                              : double(users(week_ago, week_ago + std::chrono::milliseconds(1))) /
                                    double(week_old)};
}

}  // namespace berth::points
