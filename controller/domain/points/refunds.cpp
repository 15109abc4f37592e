#include "controller/domain/points/refunds.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/accounts/bonuses.h"
#include "controller/domain/accounts/merged_guests.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::points {
namespace {

struct Spend {
  std::string user_id;
  std::string app_id;
  std::int64_t amount = 0;
  Instant at;
};

// The transaction is found by the time in its id (ledger/numbers.h).
std::optional<Spend> find_spend(db::Tx& tx, const ledger::IdParts& id) {
  const std::int64_t first = ledger::first_number(ledger::time_of_id(id));
  auto rows = tx.query(R"(
      SELECT t.number, p.amount, a.owner AS app_id, (
        SELECT u.owner
        FROM ledger_postings q
        JOIN ledger_accounts u ON u.number = q.account_number
        WHERE q.transaction_number = t.number AND q.amount < 0) AS user_id
      FROM ledger_transactions t
      JOIN ledger_kinds k ON k.number = t.kind
      JOIN ledger_postings p ON p.transaction_number = t.number AND p.amount > 0
      JOIN ledger_accounts a ON a.number = p.account_number
      WHERE t.number BETWEEN $1 AND $2 AND t.id_high = $3 AND t.id_low = $4
        AND k.kind = 'spend')",
                       first, first + (ledger::places - 1), id.high, id.low);
  if (!rows.next()) return std::nullopt;
  return Spend{.user_id = rows.text("user_id"),
               .app_id = rows.text("app_id"),
               .amount = rows.integer("amount"),
               .at = ledger::time_of_number(rows.integer("number"))};
}

// The least UUIDv7 of a time: its upper 48 bits are the time in milliseconds (RFC 9562,
// section 5.7).
std::string first_id(Instant at) {
  constexpr int bits_of_time = 48;
  const std::int64_t millis =
      std::clamp<std::int64_t>(to_millis(at), 0, (std::int64_t(1) << bits_of_time) - 1);
  return ledger::id_of_parts({.high = millis << (64 - bits_of_time), .low = 0});
}

Spend get_spend(db::Tx& tx, const ledger::IdParts& id, const std::optional<std::string>& app_id) {
  const auto spend = find_spend(tx, id);
  if (!spend || (app_id && spend->app_id != *app_id))
    throw Error(Code::not_found, app_id ? "the app has no such spend" : "there is no such spend");
  return *spend;
}

void require_refundable(db::Tx& tx, const Spend& spend, const RefundOrder& order) {
  if (order.app_id && !order.asked_in_time && tx.now() - spend.at > refundable_for)
    throw refund_too_late();
  if (!accounts::find(tx, guests::account_of(tx, spend.user_id)))
    throw Error(Code::invalid_state,
                "the user has deleted their account, so nobody can get the points");
}

// Counts the amount, and returns what was stored of the spend, with it.
struct Stored {
  std::int64_t bonus = 0;
  std::int64_t own_use = 0;
  std::int64_t referral = 0;
  std::int64_t refunded = 0;
};
Stored count_refund(db::Tx& tx, const std::string& spend_id, const Spend& spend,
                    std::int64_t amount) {
  tx.execute(R"(
      INSERT INTO refundable_spends (id, user_id, amount, bonus, own_use, referral)
      VALUES ($1, $2, $3, 0, 0, 0)
      ON CONFLICT (id) DO NOTHING)",
             spend_id, spend.user_id, spend.amount);
  const int changed = tx.execute(R"(
      UPDATE refundable_spends
      SET refunded = refunded + $2
      WHERE id = $1 AND amount - refunded >= $2)",
                                 spend_id, amount);
  auto rows = tx.query(R"(
      SELECT bonus, own_use, referral, refunded
      FROM refundable_spends
      WHERE id = $1)",
                       spend_id);
  rows.next();
  const Stored stored = {.bonus = rows.integer("bonus"),
                         .own_use = rows.integer("own_use"),
                         .referral = rows.integer("referral"),
                         .refunded = rows.integer("refunded")};
  if (changed == 0) throw exceeds_spend(spend.amount, stored.refunded);
  return stored;
}

// What a part of a spend is made of.
struct Part {
  std::int64_t marked = 0;    // comes back as a bonus
  std::int64_t bonus = 0;     // how many of these were one
  std::int64_t own_use = 0;   // what the user has to spend of their own again
  std::int64_t referral = 0;  // what doesn't count for the referrer's reward any more
};
Part part_of(const Stored& stored, bool is_referral_rewarded, const Spend& spend,
             std::int64_t amount) {
  const auto in_part = [&](std::int64_t of) {
    return share(of, stored.refunded, spend.amount) -
           share(of, stored.refunded - amount, spend.amount);
  };
  const std::int64_t rewarded =
      is_referral_rewarded ? std::min(stored.referral, referral_use) : std::int64_t(0);
  const std::int64_t counted = std::max(stored.own_use, rewarded);
  return {.marked = in_part(stored.bonus + counted),
          .bonus = in_part(stored.bonus),
          .own_use = in_part(counted),
          .referral = is_referral_rewarded ? 0 : in_part(stored.referral)};
}

bool is_referral_rewarded(db::Tx& tx, const std::string& user_id) {
  return tx.number(R"(
      SELECT count(*)
      FROM users
      WHERE id = $1 AND referral_rewarded_at IS NOT NULL)",
                   user_id) > 0;
}

// Takes back what the spend was counted for.
void discount(db::Tx& tx, const Spend& spend, const std::string& app_owner_id, const Part& part) {
  bonuses::discount_own_use(tx, spend.user_id, part.own_use);
  if (app_owner_id != spend.user_id) bonuses::give_back(tx, app_owner_id, part.bonus);
  if (part.referral > 0)
    tx.execute(R"(
        UPDATE users
        SET referral_spent = CASE WHEN referral_spent > $2 THEN referral_spent - $2 ELSE 0 END
        WHERE id = $1)",
               spend.user_id, part.referral);
}

std::string move_back(db::Tx& tx, const Spend& spend, const RefundOrder& order,
                      std::int64_t bonus) {
  const auto id = ledger::post(tx, {.kind = "refund",
                                    .from = ledger::app_account(spend.app_id),
                                    .to = ledger::user_account(spend.user_id),
                                    .amount = order.amount,
                                    .memo = order.reason,
                                    .bonus_given_back = bonus});
  if (!id)
    throw Error(Code::insufficient_balance,
                "the app's balance is lower than the " + std::to_string(order.amount) +
                    " points that it would give back" +
                    ledger::words_for_held(tx, ledger::app_account(spend.app_id)));
  guests::pass_on_points(tx, spend.user_id);
  return *id;
}

}  // namespace

Error exceeds_spend(std::int64_t amount, std::int64_t refunded) {
  return Error(Code::refund_exceeds_spend, "of the spend's " + std::to_string(amount) +
                                               " points, " + std::to_string(amount - refunded) +
                                               " can be given back");
}

Error refund_too_late() {
  const auto days = std::chrono::duration_cast<std::chrono::days>(refundable_for).count();
  return Error(Code::invalid_state,
               "a spend can be given back for " + std::to_string(days) + " days, which are over");
}

std::optional<RefundableSpend> find_refundable(db::Tx& tx, const std::string& spend_id) {
  const ledger::IdParts parts = ledger::parts_of_id(spend_id);
  const auto spend = find_spend(tx, parts);
  if (!spend) return std::nullopt;
  const std::string id = ledger::id_of_parts(parts);
  return RefundableSpend{
      .id = id,
      .user_id = spend->user_id,
      .app_id = spend->app_id,
      .amount = spend->amount,
      .refunded = tx.number(R"(SELECT refunded FROM refundable_spends WHERE id = $1)", id),
      .at = spend->at};
}

std::vector<BonusSpend> newest_bonus_spends(db::Tx& tx, Instant since, int most) {
  struct Row {
    std::string id;
    std::int64_t bonus = 0;
  };
  std::vector<Row> spends;
  {
    // The ids begin with their times, so the newest ones are the last of the key.
    auto rows = tx.query(R"(
        SELECT id, bonus
        FROM refundable_spends
        WHERE id >= $1 AND bonus > 0
        ORDER BY id DESC
        LIMIT $2)",
                         first_id(since), most);
    while (rows.next()) spends.push_back({.id = rows.text("id"), .bonus = rows.integer("bonus")});
  }
  std::vector<BonusSpend> all;
  for (const Row& row : spends)
    if (const auto spend = find_spend(tx, ledger::parts_of_id(row.id)))
      all.push_back({.user_id = spend->user_id,
                     .app_id = spend->app_id,
                     .bonus = row.bonus,
                     .at = spend->at});
  return all;
}

std::int64_t share(std::int64_t of, std::int64_t refunded, std::int64_t whole) {
  __extension__ using Wide = __int128;  // the product has up to 106 bits
  return static_cast<std::int64_t>(Wide(of) * refunded / whole);
}

void remember(db::Tx& tx, const Counted& counted) {
  if (counted.bonus + counted.own_use + counted.referral == 0) return;
  tx.execute(R"(
      INSERT INTO refundable_spends (id, user_id, amount, bonus, own_use, referral)
      VALUES ($1, $2, $3, $4, $5, $6))",
             counted.spend_id, counted.user_id, counted.amount, counted.bonus, counted.own_use,
             counted.referral);
}

Refund refund(db::Tx& tx, const RefundOrder& order) {
  tx.require_serializable();
  const ledger::IdParts parts = ledger::parts_of_id(order.spend_id);
  const std::string spend_id = ledger::id_of_parts(parts);
  const Spend spend = get_spend(tx, parts, order.app_id);
  require_refundable(tx, spend, order);
  const Stored stored = count_refund(tx, spend_id, spend, order.amount);
  const Part part = part_of(stored, is_referral_rewarded(tx, spend.user_id), spend, order.amount);
  const auto app = apps::find(tx, spend.app_id);
  const std::string owner_id = app ? app->owner_id : "";
  // Points that were the user's own mustn't come out of a bonus of the app's owner.
  const ledger::Account account = ledger::app_account(spend.app_id);
  if (app && ledger::balance(tx, account) >= order.amount)
    bonuses::require_own(tx, account, owner_id, order.amount - part.marked);
  const std::string id = move_back(tx, spend, order, part.marked);
  discount(tx, spend, owner_id, part);
  const std::string initiated_by(to_string(order.app_id ? Initiator::owner : Initiator::admin));
  tx.execute(R"(
      INSERT INTO refunds (id, spend_id, amount, bonus, initiated_by, inserted_at)
      VALUES ($1, $2, $3, $4, $5, $6))",
             id, spend_id, order.amount, part.marked, initiated_by, tx.now());
  webhooks::emit(tx, spend.app_id, "points.refunded", spend_id,
                 {{"refund_id", id},
                  {"spend_id", spend_id},
                  {"amount", order.amount},
                  {"refunded", stored.refunded},
                  {"refundable", spend.amount - stored.refunded},
                  {"initiated_by", initiated_by}});
  // The reason may be about the user, so it is erased with them (audit::erase_details).
  if (!order.app_id)
    audit::record(tx, order.admin, "points.refund", spend.user_id,
                  nlohmann::json{{"spend_id", spend_id},
                                 {"app_id", spend.app_id},
                                 {"amount", order.amount},
                                 {"reason", order.reason}}
                      .dump());
  return {.id = id,
          .spend_id = spend_id,
          .amount = order.amount,
          .refunded = stored.refunded,
          .refundable = spend.amount - stored.refunded,
          .at = tx.now()};
}

}  // namespace berth::points
