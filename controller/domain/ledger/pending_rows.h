#pragma once

#include <vector>

#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/finding.h"

// What pending.h describes, for the other files of the module, to which it is private.
namespace berth::ledger {

// The most points that may ever come to an account, so that sums of 64 bits hold them.
inline constexpr std::int64_t max_credited = std::int64_t(1) << 62;
// A credit is only left pending if no more than this has come to the account's row with it.
//
// Then no row ever exceeds max_credited, although nobody adds up what is pending: at most
// max_points exist (a limit of issuance). The pending points are among them, and so are those that
// unfinished writes are moving, because each takes its points from the row of another account,
// which no two unfinished writes change. Once the row is beyond this limit, new writes add to it
// directly. So before that, the row grows by at most twice max_points unnoticed. The balance needs
// no limit here, because no account can have more points than exist.
inline constexpr std::int64_t max_credited_with_pending = max_credited - 2 * max_points;

// Whether credits of the account may be pending.
bool may_have_pending(const db::Tx& tx, const Account& account);

struct PendingCredit {
  std::int64_t account = 0;  // these are numbers (numbers.h)
  std::int64_t transaction = 0;
  int leg = 0;  // the leg of the posting
  std::int64_t kind = 0;
  std::int64_t amount = 0;
};
void add_pending(db::Tx& tx, const PendingCredit& credit);
// Does what fold() does, for one account.
int fold(db::Tx& tx, const Account& account);

// The sum of what is pending.
std::int64_t pending_sum(db::Tx& tx, const Account& account);
// The sums of what is pending by day and kind, in this order. The days are those of the
// transactions.
std::vector<KindDay> pending_days(db::Tx& tx, const Account& account);

// Finds pending credits that aren't those of a posting.
Finding check_pending(db::Tx& tx);

}  // namespace berth::ledger
