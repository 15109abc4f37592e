#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/deployments/billing/status.h"
#include "controller/domain/deployments/metering/units.h"

// Holds and settlement: how an app pays for what is metered.
//
// Nothing metered starts unless the app's balance covers what is used and not charged yet, and an
// hour more of all that is to run: of as many containers as each deployment may have at once, and
// of the runs of its commands. So many points are held: they stay on the account and can't leave it
// (ledger::set_held). The hold is renewed in place before it is used up. What was used is charged
// when a UTC day has ended, and when a deployment has stopped, in whole points; the rest of a point
// is carried to the app's next charge. A charge is never above the balance or what a budget leaves;
// what was used beyond is the platform's loss, and counted.
//
// If the points run out, the owner is warned warning_before ahead, and at the end the app's metered
// deployments are suspended the way billing does it: the same status, log entries, mails and
// events. They start again as soon as the points for an hour are there. What costs nothing by the
// hour goes on. Unlike periods of 30 days, what ran while berthd was down is charged.
namespace berth::metering {

// The hold covers so much time ahead when it is renewed, and is renewed when less than the second
// of the two is left.
inline constexpr Duration held_for = std::chrono::hours(1);
inline constexpr Duration renewed_before = std::chrono::minutes(10);
// The owner is warned when the points last for less than the first, and again only after they
// lasted for more than the second.
inline constexpr Duration warning_before = std::chrono::hours(24);
inline constexpr Duration warning_withdrawn = std::chrono::hours(36);
// How long days (meter.h) are kept. Receipts of charges, meter_settlements, are kept for good,
// because the ledger is compared with them.
inline constexpr std::int64_t days_kept = 400;

// What the owners of suspended deployments are told.
inline constexpr const char* hour_missing =
    "the points for the next hour are missing; it starts again as soon as they arrive";
inline constexpr const char* budget_spent =
    "a budget is spent; it starts again when the budget is raised or its period moves on";

// ---- For the API --------------------------------------------------------------------------------

// An app's account of what is metered.
struct Account {
  std::int64_t balance = 0;  // of the app, with what is held
  std::int64_t held = 0;     // can't be spent
  std::int64_t accrued = 0;  // used and not charged yet, in whole points
  // Of all that is to run, by today's prices, with as many containers as there may be at once.
  std::int64_t points_per_hour = 0;
  // When the points run out at that rate; empty if nothing is to run, or they last for longer than
  // `longest`.
  std::optional<Instant> lasts_until;
  std::optional<Instant> warned_at;
};
Account account(db::Tx& tx, const std::string& app_id);

// ---- For billing, in the transaction of the change ----------------------------------------------

// To be called when a deployment is to start, or to have more containers, while its row already has
// its tier and their number, before anything is charged for it: raises the hold. `points_due` are
// what billing is about to charge for 30 days. Throws billing::TooFewPoints if the app's balance
// doesn't cover the hold and `points_due`, and budget_reached if a budget is spent, or leaves less
// than `points_due`. A deployment that isn't metered needs no hold; a budget that is spent refuses
// it only at stop_all, or if it costs `points_due`. Changes nothing if it throws. May be called in
// a write with row locks.
void admit(db::Tx& tx, const std::string& deployment_id, std::int64_t points_due);
// To be called when a command of the deployment is to run in a container of its own, before its row
// is stored: raises the hold by an hour of it. Throws what admit() does, and TooFewPoints if the
// deployment's present 30 days aren't paid. When the run has ended, look_at() gives the hold back.
void admit_run(db::Tx& tx, const std::string& deployment_id);
// Does what admit() does, and returns why it is refused instead of throwing.
std::optional<billing::StoppedFor> try_to_admit(db::Tx& tx, const std::string& deployment_id,
                                                std::int64_t points_due);
// Whether a budget with stop_all leaves less than the `points_due` for the next 30 days of a
// deployment that runs. Other renewals go on.
bool is_beyond_budget(db::Tx& tx, const std::string& deployment_id, std::int64_t points_due);
// To be called when a deployment no longer runs, or its app's points have changed otherwise: the
// loop looks at the app at once. Does nothing for an app that never had anything metered.
void look_at(db::Tx& tx, const std::string& app_id);

// Charges all whole points of what ran until now. To be called before something changes that limits
// what is charged, such as a budget: otherwise an owner could run things, and then set a budget
// that leaves nothing for them.
void charge_now(db::Tx& tx, const std::string& app_id);
// To be called before an app is deleted and its balance goes: charges what ran until now, and ends
// the hold. What its containers run until they are gone is the platform's.
void close_app(db::Tx& tx, const std::string& app_id);

// ---- For the metering loop ----------------------------------------------------------------------

// Returns the ids of apps that are due, those that have waited longest first.
std::vector<std::string> due(db::Tx& tx, int most);
// Returns when the next app becomes due, which may be in the past.
std::optional<Instant> next_due(db::Tx& tx);

// What settle_due() did, for the metrics.
struct Outcome {
  int settlements = 0;                   // transactions of the ledger
  std::int64_t points = 0;               // charged
  std::int64_t unpaid_milliseconds = 0;  // that the platform bears
  int warned = 0;                        // owners, that the points run out
  int suspended = 0;                     // deployments, for want of points
  int stopped_by_budget = 0;             // deployments
  int budgets_told = 0;                  // marks of budgets that were passed
  int released = 0;                      // deployments that billing is asked to start again
  void add(const Outcome& other);
};
// Does whatever is due for the app now: renews the hold, settles days that have ended and
// deployments that have stopped, warns, suspends, and tells of budgets. Afterwards it is due in the
// future or not at all. Deployments that may start again become due for billing's loop, which
// starts them (billing::settle_due). Needs a serializable write.
Outcome settle_due(db::Tx& tx, const std::string& app_id, const std::string& data_key);
// To be called if settle_due() has failed: the app isn't due again before `until`.
void postpone(db::Tx& tx, const std::string& app_id, Instant until);

// How many points all apps together have held, for the metrics.
std::int64_t held_in_total(db::Tx& tx);

}  // namespace berth::metering
