#include "controller/domain/accounts/bonuses.h"

#include <algorithm>

#include "controller/base/error.h"

namespace berth::bonuses {
namespace {

std::int64_t own_spent(db::Tx& tx, const std::string& user_id) {
  return tx.number(R"(SELECT own_spent FROM users WHERE id = $1)", user_id);
}

bool has_own_use(db::Tx& tx, const std::string& user_id) {
  return own_spent(tx, user_id) >= rewards::own_use;
}

std::string how_to_own() {
  return "Your bonus is yours without limits once you have spent " +
         std::to_string(rewards::own_use) + " points of your own in other people's apps";
}

}  // namespace

void let_reach(db::Tx& tx, const std::string& to, std::int64_t points) {
  if (points == 0) return;
  // Points that were received in a window that is over don't count.
  if (tx.execute(R"(
      UPDATE users
      SET bonus_received = CASE WHEN bonus_since > $3 THEN bonus_received + $2 ELSE $2 END,
          bonus_since = CASE WHEN bonus_since > $3 THEN bonus_since ELSE $4 END
      WHERE id = $1 AND CASE WHEN bonus_since > $3 THEN bonus_received ELSE 0 END + $2 <= $5)",
                 to, points, tx.now() - window, tx.now(), most_received) == 0)
    throw Error(Code::bonus_locked,
                std::to_string(points) +
                    " of these points are a bonus, and this recipient can't get that many at "
                    "present. " +
                    how_to_own());
}

void give_back(db::Tx& tx, const std::string& to, std::int64_t points) {
  if (points == 0) return;
  tx.execute(R"(
      UPDATE users
      SET bonus_received = CASE WHEN bonus_received > $2 THEN bonus_received - $2 ELSE 0 END
      WHERE id = $1)",
             to, points);
}

std::int64_t count_own_use(db::Tx& tx, const std::string& user_id, std::int64_t points) {
  if (points == 0) return 0;
  // The caller has changed the row of the user's ledger account, so nobody else counts meanwhile.
  const std::int64_t before = own_spent(tx, user_id);
  const std::int64_t counted = std::clamp(rewards::own_use - before, std::int64_t(0), points);
  if (counted > 0)
    tx.execute(R"(
        UPDATE users
        SET own_spent = own_spent + $2
        WHERE id = $1)",
               user_id, counted);
  if (before + counted >= rewards::own_use) ledger::end_bonus(tx, ledger::user_account(user_id));
  return counted;
}

void discount_own_use(db::Tx& tx, const std::string& user_id, std::int64_t points) {
  if (points == 0) return;
  tx.execute(R"(
      UPDATE users
      SET own_spent = CASE WHEN own_spent > $2 THEN own_spent - $2 ELSE 0 END
      WHERE id = $1)",
             user_id, points);
}

void require_own(db::Tx& tx, const ledger::Account& account, const std::string& user_id,
                 std::int64_t points) {
  ledger::lock(tx, account);
  const std::int64_t bonus = ledger::bonus(tx, account);
  if (bonus == 0) return;
  if (has_own_use(tx, user_id)) {
    ledger::end_bonus(tx, account);
    return;
  }
  const std::int64_t balance = ledger::balance(tx, account);
  if (points <= balance && points > balance - bonus)
    throw Error(Code::bonus_locked, std::to_string(bonus) +
                                        " of the account's points are a bonus, which can't pay "
                                        "for this. " +
                                        how_to_own());
}

}  // namespace berth::bonuses
