#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/deployments/metering/units.h"

// The meter: what ran, as intervals from what the cluster says, by the runtime's own times.
//
// Only deployments on a tier that has a price by the hour, or gets one at the next UTC midnight,
// are recorded. Each run of a container is an interval, also while an old and a new version run
// side by side. A run of which the cluster no longer knows the end is closed when its pod was seen
// last. Nothing is recorded, or counted, twice, whoever reports it how often.
namespace berth::metering {

// What costs points. Further items are added here and to the CHECKs of the tables.
enum class Item {
  base  // a run of a deployment's container
};
constexpr auto texts_of(Item) { return EnumTexts<Item::base>{"base"}; }

// How an interval ended.
enum class Ending {
  finished,  // the cluster named the time
  vanished   // the cluster no longer knows the run
};
constexpr auto texts_of(Ending) { return EnumTexts<Ending::vanished>{"finished", "vanished"}; }

// What the runs of jobs have instead of the name of a process. A process may have this name, too.
inline constexpr const char* run_process = "run";

// One run of one container, as the cluster describes it.
struct Run {
  std::string name;  // the pod's uid, "/" and the container's restart count: "0c5a…/2"
  std::string process = "web";
  Instant started_at;
  std::optional<Instant> ended_at;
};

// What record() did. The counts are for the metrics.
struct Recorded {
  int opened = 0;    // runs that weren't known
  int closed = 0;    // runs that have ended by the cluster's word
  int vanished = 0;  // runs that have ended without a word
  int skewed = 0;    // times that can't be, and were cut to what is possible
  int missed = 0;    // runs between two known ones of a pod that nobody saw; they cost nothing
  bool is_changed() const { return opened > 0 || closed > 0 || vanished > 0; }
};

// How far a time of the cluster may be ahead of berthd's clock without being cut.
inline constexpr Duration max_skew = std::chrono::minutes(5);
// The cluster's times are whole seconds; less isn't counted as skewed.
inline constexpr Duration resolution = std::chrono::seconds(1);
// Of more runs of one deployment, those that run and those that ended last are looked at: a cluster
// may keep thousands of pods that have ended, and these were recorded when they did.
inline constexpr size_t max_runs_at_once = 1'000;

// Records what the cluster says about the deployment's runs. `vanished_at` is set if `runs` are all
// that the cluster has of the deployment (a list or a watch that is in step): open intervals that
// aren't among them are closed at that time, but not before they began. It is the last time at
// which the cluster was seen in step before it no longer had them (watched_until()).
//
// For the transaction that stores the observation; also for stopped and destroyed deployments,
// whose last containers end later. The same call again changes nothing, and whether it would change
// anything costs one look-up in an index (would_change()). A run that began before an earlier run
// of its pod ended, that ends before it began, or that is ahead of the transaction's time by more
// than max_skew is cut and counted as skewed. Does nothing for a deployment that doesn't exist.
// Throws std::invalid_argument for a name without a pod and a number.
Recorded record(db::Tx& tx, const std::string& deployment_id, const std::vector<Run>& runs,
                const std::optional<Instant>& vanished_at);

// Whether record() would change anything, from a read. A loop asks this before it opens a write.
bool would_change(db::Tx& tx, const std::string& deployment_id, const std::vector<Run>& runs,
                  const std::optional<Instant>& vanished_at);

// Until when the cluster's pods have been seen in step. What runs is known to have run until then,
// so it is counted until then and no further. The leader calls set_watched_until() every
// `watch_interval` while its informer of pods is in step. A time before the present one changes
// nothing.
inline constexpr Duration watch_interval = std::chrono::seconds(5);
void set_watched_until(db::Tx& tx, Instant at);
// The start of 1970 if nobody ever was in step.
Instant watched_until(db::Tx& tx);

// Returns the ids of the deployments that have runs without an end, in ascending order: whoever
// begins to lead has to look at them, whatever their state.
std::vector<std::string> deployments_with_open(db::Tx& tx);
// Returns how many runs have no end, for the metrics.
std::int64_t open_runs(db::Tx& tx);

// ---- For the API --------------------------------------------------------------------------------

struct Interval {
  std::string run;  // as in Run::name
  std::string process;
  Item item = Item::base;
  std::int64_t quantity = 1;
  Instant started_at;
  std::optional<Instant> ended_at;  // empty while it runs
  std::optional<Ending> ending;
};
// How long intervals are kept after their ends; usage.h lists them.
inline constexpr Duration intervals_kept_for = std::chrono::days(35);

// What a deployment used on a UTC day.
struct DayUse {
  std::string deployment_id;
  std::int64_t day = 0;  // days since 1970
  std::string process;
  Item item = Item::base;
  std::int64_t milliseconds = 0;          // what ran, of all of a quantity together
  std::int64_t points = 0;                // charged so far
  std::int64_t pending_milliseconds = 0;  // of `milliseconds`: not settled yet
  std::int64_t unpaid_milliseconds = 0;   // of `milliseconds`: borne by the platform
  bool operator==(const DayUse&) const = default;
};
// Returns what the deployment used on the days from `first` to `last`, in the order of the days;
// what runs at present is included until now. Throws std::logic_error for more than max_use_days.
inline constexpr std::int64_t max_use_days = 400;
std::vector<DayUse> uses(db::Tx& tx, const std::string& deployment_id, std::int64_t first,
                         std::int64_t last);

// ---- For billing --------------------------------------------------------------------------------

// To be called when the deployment moves to another tier, before its row has it: what ran until now
// is counted at the old tier's price, and what runs from now on at the new one's.
void tier_changes(db::Tx& tx, const std::string& deployment_id);

// ---- For settlement -----------------------------------------------------------------------------

// Adds to meter_days what the app's open intervals ran until `until`, but not until later than
// watch_lag before watched_until(): the cluster may name an end a moment after it. Idempotent.
inline constexpr Duration watch_lag = std::chrono::seconds(2);
void count_open(db::Tx& tx, const std::string& app_id, Instant until);
// Does the same until now, whether or not anybody has seen the cluster.
void count_until_now(db::Tx& tx, const std::string& app_id);

// Removes intervals that ended more than intervals_kept_for ago, `most` at most. Returns how many.
int remove_old_intervals(db::Tx& tx, int most);

// Deployments that have days older than settlement.h's days_kept.
struct OldDays {
  std::vector<std::string> deployments;
  std::string last;  // the last deployment that was looked at; empty if no more are to be looked at
};
// Looks at `most` deployments, those after the id `after`, in ascending order. Days have no index
// by their day, which would take a third of their room.
OldDays find_old_days(db::Tx& tx, const std::string& after, int most);
// Removes these deployments' old days, but for those that aren't settled. Returns how many.
int remove_old_days(db::Tx& tx, const std::vector<std::string>& deployment_ids);

}  // namespace berth::metering
