#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/domain/ledger/ledger.h"

// Everything that leaves a user's account but for the account's deletion: spending, transfers,
// purchases and gifts. So the daily limit of an app's tokens, and the bounds of bonus points
// (accounts/bonuses.h), hold for all of it.
namespace berth::debits {

struct Payer {
  std::string user_id;
  // The grant of the app's token that asks for the payment, if one does. The payment counts against
  // the daily limit that the user has set for the app.
  std::optional<std::string> grant_id;
};

struct Debit {
  std::string_view kind;  // the kind of the ledger transaction
  // If this is an app's account, the payer uses the app: the points of their own that they pay
  // count towards making their bonus their own (accounts/bonuses.h).
  ledger::Account to;
  // The user whom the points, or what they pay for, reach. Empty if that is nobody but the payer,
  // or if an app gets the points and its owner has to be looked up.
  std::string reaches;
  std::int64_t amount = 0;  // 1 to ledger::max_points
  std::string memo;
};

// A debit whose points have moved, but which wasn't yet counted against the daily limit.
struct Taken {
  std::string transaction_id;
  std::int64_t own = 0;  // how many of the points were the payer's own, and no bonus
  // How many of these were counted towards making the payer's bonus their own.
  std::int64_t own_use = 0;
  std::optional<db::Query> limit;
};
// Moves the points. Throws insufficient_balance and bonus_locked. The statement that counts the
// debit against the limit is sent together with the write's next one.
Taken begin(db::Tx& tx, const Payer& payer, const Debit& debit);
// Has to follow begin(). Throws spend_limit_reached.
void finish(Taken& taken);

// Both steps, for callers who have no statements to send with the first one.
void take(db::Tx& tx, const Payer& payer, const Debit& debit);

}  // namespace berth::debits
