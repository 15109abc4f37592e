#pragma once

#include <string>
#include <vector>

#include "controller/db/database.h"

namespace berth::ledger {

// The result of checking one invariant of the ledger against the postings.
struct Check {
  std::string name;
  bool ok = false;
  std::string detail;  // what was counted, or the first violation
};
// Checks all invariants: balances sum to 0; each transaction's postings sum to 0; each balance is
// the sum of its account's postings; no transaction is without postings; a reservation account has
// the sum of its open holds; what deployments were charged is what was posted for them. For each
// campaign: its payments equal rake plus budget; its budget is paid, refunded, reserved or
// remaining; what it paid is the sum of its impressions' payouts; and its viewers' rewards don't
// exceed its rake. Reads every posting, which takes seconds for millions of them.
std::vector<Check> audit(db::Tx& tx);

}  // namespace berth::ledger
