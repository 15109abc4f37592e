#pragma once

#include <optional>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/ledger/closed_days.h"
#include "controller/domain/ledger/ledger_audit.h"

// The audit of a ledger that is in use. Old rows are read in the background, a few at a time, in
// passes over all of them. `ledger_audit_parts` has the state of each pass, so that a pass
// continues after a restart. New rows are read when somebody asks, and the answer adds the results
// of the passes. Altogether this covers what audit() checks, with two exceptions: ad events, and a
// balance that was changed together with the account's sums of points in and out, if the account
// has no row in days.h.
namespace berth::ledger {

// The greatest number of transactions and rows of days.h that a step in the background reads, which
// takes some milliseconds.
inline constexpr int rows_of_step = 2'000;
// The greatest number of campaigns, deployments or reservations that such a step reads.
inline constexpr int things_of_step = 100;
// The rows of this many days before the present one are checked whenever somebody asks; older rows
// are checked by the pass that reads their days.
inline constexpr int days_of_chain = 366;
// The pause between the end of a pass and the beginning of the next one.
inline constexpr Duration pass_pause = std::chrono::hours(24);

// Checks the open days, which are those that aren't closed because their time hasn't come; the rows
// of days that were closed within the last days_of_chain; and whether an account's balance differs
// from its points in and out. Adds what the passes have found: both the present one and the one
// before it. Reads the postings of at most the last 25 hours.
std::vector<Check> running_audit(db::Tx& tx);

// Returns how many violations the present passes and those before them have found. A violation that
// was corrected counts until the next pass has ended.
std::int64_t violations_found(db::Tx& tx);

// A pass over the closed days. The walk of a day that takes several steps is kept in memory; after
// a restart it begins again.
struct DaysPass {
  std::optional<DayWalk> walk;
  // What the present step has seen and not stored yet.
  Finding seen;
  std::optional<std::int64_t> last;  // the newest day in `seen`
  bool is_over = false;
};
// Whether a pass over the closed days is under way or due.
bool is_days_pass_due(db::Tx& tx);
// Reads at most rows_of_step rows.
void read_days(db::Tx& tx, DaysPass& pass);
// Stores what was read, and resets `seen`.
void store(db::Tx& tx, DaysPass& pass);

// The next step of the passes over reservations, deployments and campaigns.
struct OtherStep {
  std::string part;
  std::string position;
  Finding seen;
};
// Reads at most things_of_step things. Returns nothing if no pass is due.
std::optional<OtherStep> read_others(db::Tx& tx);
// Stores what was read.
void store(db::Tx& tx, const OtherStep& step);

}  // namespace berth::ledger
