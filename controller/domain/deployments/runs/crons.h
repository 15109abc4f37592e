#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/runs/runs.h"

// Crons: commands of a deployment at set times (cron_schedule.h). deployment_crons has a row for
// each, with the minute at which it is due next, so that asking what is due reads nothing else. The
// minute's run and the next minute are one transaction, and a minute of a cron has at most one run.
namespace berth::crons {

// Why a minute of a cron had no run.
enum class Skipped {
  overlap,         // its last run isn't over
  limit,           // the deployment or its account has too many runs under way
  points_missing,  // the points for an hour of it are missing, or a budget is spent
  not_deployed,    // nothing of the deployment has run yet
};
constexpr auto texts_of(Skipped) {
  return EnumTexts<Skipped::not_deployed>{"overlap", "limit", "points_missing", "not_deployed"};
}

struct State {
  std::string name;
  std::string schedule;
  std::string zone;
  std::optional<Instant> next_at;  // empty while the deployment is stopped
  std::optional<runs::Run> last;   // the newest run, also one that was started by hand
  // The newest minute that had no run, and why; empty once a later one had.
  std::optional<Instant> skipped_at;
  std::optional<Skipped> skipped;
};
// Returns the deployment's crons, in the order of its field `crons`.
std::vector<State> states(db::Tx& tx, const deployments::Deployment& deployment);
// Runs a cron now. Throws what runs::create() throws, cron_not_found, and invalid_state if its last
// run isn't over. Needs a serializable write.
runs::Run start(db::Tx& tx, const deployments::Actor& actor, const std::string& deployment_id,
                const std::string& name);

// ---- For the loop of crons ----------------------------------------------------------------------

// A run that was missed, because berthd was down, is made up for if it is younger than this; of
// several, only the newest.
inline constexpr Duration caught_up_for = std::chrono::hours(1);

struct Key {
  std::string deployment_id;
  std::string name;
};
// Returns the crons that are due, those that have waited longest first. One look-up in an index if
// there are none.
std::vector<Key> due(db::Tx& tx, int most);
// When the next one is due, which may be in the past.
std::optional<Instant> next_due(db::Tx& tx);

enum class Outcome { nothing, started, skipped, missed };
inline constexpr std::size_t outcome_count = 4;
constexpr auto texts_of(Outcome) {
  return EnumTexts<Outcome::missed>{"nothing", "started", "skipped", "missed"};
}
// Makes the run of the minute that a cron is due for, or records why there is none, and sets the
// next minute. `missed` means that the minute was longer ago than caught_up_for. Does nothing if
// the cron isn't due (any more). Needs a serializable write.
Outcome settle_due(db::Tx& tx, const Key& key);
// For when a loop begins: returns the crons whose next minute is later than their schedule and the
// present time make it, because the clock was ahead when it was set and was set back since, or
// because the zone has changed. Reads every cron that isn't due.
std::vector<Key> too_late(db::Tx& tx);
// Gives such a cron its next minute; does nothing to another one. A minute that had its run has no
// second one.
void correct(db::Tx& tx, const Key& key);
// To be called if settle_due() has failed: the cron isn't due again before `until`.
void postpone(db::Tx& tx, const Key& key, Instant until);

// ---- For the other parts of the deployments -----------------------------------------------------

// Makes the rows those of the deployment's field `crons`, and of its status: a deployment that is
// stopped has none that is due. To be called in each transaction that changes either. A cron whose
// schedule and zone stay the same keeps its next minute.
void follow(db::Tx& tx, const std::string& deployment_id, const deployments::Crons& crons);
void deployment_starts(db::Tx& tx, const std::string& deployment_id);
void deployment_stops(db::Tx& tx, const std::string& deployment_id);

}  // namespace berth::crons
