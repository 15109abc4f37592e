#include "controller/domain/oauth/debits.h"

#include "controller/base/error.h"
#include "controller/domain/accounts/bonuses.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/oauth/connections.h"

namespace berth::debits {
namespace {

// Counts the bonus points of a payment against the limit of the person whom they reach, and the
// other points as the payer's own use. Returns how many of these were counted.
std::int64_t settle_bonus(db::Tx& tx, const Payer& payer, const Debit& debit, std::int64_t bonus) {
  const bool is_use = debit.to.kind == "app";
  std::string reached = debit.reaches;
  if (is_use && reached.empty())
    if (const auto app = apps::find(tx, debit.to.owner)) reached = app->owner_id;
  if (reached.empty() || reached == payer.user_id) return 0;
  bonuses::let_reach(tx, reached, bonus);
  return is_use ? bonuses::count_own_use(tx, payer.user_id, debit.amount - bonus) : 0;
}

}  // namespace

Taken begin(db::Tx& tx, const Payer& payer, const Debit& debit) {
  const auto posted = ledger::post_and_tell(
      tx, {.kind = debit.kind,
           .from = ledger::user_account(payer.user_id),
           .to = debit.to,
           .amount = debit.amount,
           .memo = debit.memo,
           .mark = debit.reaches.empty() ? ledger::Mark::kept : ledger::Mark::last});
  if (!posted)
    throw Error(Code::insufficient_balance, "the balance is lower than the " +
                                                std::to_string(debit.amount) +
                                                " points that this takes");
  Taken taken = {.transaction_id = posted->id, .own = debit.amount - posted->bonus, .limit = {}};
  if (payer.grant_id)
    taken.limit.emplace(connections::spending_count(tx, *payer.grant_id, debit.amount));
  if (posted->bonus + posted->bonus_left > 0)
    taken.own_use = settle_bonus(tx, payer, debit, posted->bonus);
  return taken;
}

void finish(Taken& taken) {
  if (taken.limit) connections::require_counted(*taken.limit);
}

void take(db::Tx& tx, const Payer& payer, const Debit& debit) {
  Taken taken = begin(tx, payer, debit);
  finish(taken);
}

}  // namespace berth::debits
