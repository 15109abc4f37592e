#pragma once

#include <string>
#include <vector>

#include "controller/db/database.h"

namespace berth::ledger {

// One invariant of the ledger, computed from the postings.
struct Check {
  std::string name;
  bool ok = false;
  std::string detail;  // what was counted, or where it is broken first
};
// All of them: balances sum to 0, each transaction's postings sum to 0, each balance is the sum of
// its account's postings, no transaction is without postings, a reservation is the sum of its open
// holds, what deployments were charged is what was posted for them; each campaign's payments are
// rake and budget, its budget is paid, refunded, reserved or remaining, what it paid is the sum of
// its impressions' payouts, its viewers' rewards don't exceed its rake. Reads every posting:
// seconds for millions of them.
std::vector<Check> audit(db::Tx& tx);

}  // namespace berth::ledger
