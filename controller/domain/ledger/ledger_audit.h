#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/ledger/finding.h"

namespace berth::ledger {

// The result of checking one invariant of the ledger.
struct Check {
  std::string name;
  bool ok = false;
  std::string detail;  // what was counted, or the first violation
};

// Checks all invariants against the postings, and reads every one of them for that, which takes
// some seconds per million: balances sum to 0; each transaction's postings sum to 0; each balance
// is the sum of its account's postings; no transaction is without postings; the sums of days.h are
// those of the postings; closed days are what they were closed with, and chained; a reservation
// account has the sum of its open holds; what deployments were charged is what was posted for them;
// so are refunds and claw-backs, which don't exceed what was spent and given.
// For each campaign: its payments equal rake plus budget; its budget is paid, refunded, reserved or
// remaining; what it paid is the sum of its impressions' payouts; its viewers' rewards don't exceed
// its rake; and its days are the sums of its events.
std::vector<Check> audit(db::Tx& tx);

// The audit in parts, which may run at the same time on different connections. Each is consistent
// with itself in any snapshot.
struct AuditPart {
  const char* name = nullptr;
  const char* what = nullptr;  // what it counts, such as "accounts"
  std::int64_t weight = 1;     // about how many rows it reads
  std::function<Finding(db::Tx& tx)> run;
};
std::vector<AuditPart> audit_parts(db::Tx& tx);
// Returns the checks that the parts and their findings amount to. `findings` has one element for
// each part. Neighbouring parts with the same name, which read different rows, make one check.
std::vector<Check> checks_of(const std::vector<AuditPart>& parts,
                             const std::vector<Finding>& findings);

}  // namespace berth::ledger
