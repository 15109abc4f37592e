#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/kernel/page.h"

// Runs: commands that a deployment runs once, each in a container of its own: a release command
// (releases.h), a command that somebody asked for, or one of a cron (crons.h). Here is who may run
// what, and what became of it; reconcilers/cluster makes the Jobs and tells what it sees of them.
//
// A run has the image, the variables and the size of one generation of its deployment: a release
// those of the rollout that it comes before, every other run those of the newest rollout that ran.
//
// A run is over once its status is succeeded, failed or cancelled, and that never changes any more.
// What is recorded says what is, not what happened, so that telling the same again changes nothing.
namespace berth::runs {

using deployments::Texts;

enum class Kind { release, run, cron };
constexpr auto texts_of(Kind) { return EnumTexts<Kind::cron>{"release", "run", "cron"}; }

enum class Status { pending, running, succeeded, failed, cancelled };
constexpr auto texts_of(Status) {
  return EnumTexts<Status::cancelled>{"pending", "running", "succeeded", "failed", "cancelled"};
}
inline bool is_over(Status status) { return status > Status::running; }

// Why a run failed, or was cancelled. Published.
enum class Reason {
  command_failed,      // it ended with another exit code than 0
  timed_out,           // it ran for longer than its timeout
  out_of_memory,       // it was ended because of its memory limit
  image_pull_failed,   // its image can't be pulled
  not_started,         // its container can't be made or started; the cluster's words say why
  lost,                // its container is gone without a word of how it ended
  points_missing,      // the points for its first hour are missing, or a budget is spent
  cancelled_by_owner,  // somebody cancelled it
  superseded,          // a newer rollout began before the release command ended
  deployment_stopped,  // the deployment was stopped, suspended or deleted
};
constexpr auto texts_of(Reason) {
  return EnumTexts<Reason::deployment_stopped>{"command_failed", "timed_out",
                                               "out_of_memory",  "image_pull_failed",
                                               "not_started",    "lost",
                                               "points_missing", "cancelled_by_owner",
                                               "superseded",     "deployment_stopped"};
}

struct Run {
  std::string id;  // a UUIDv7
  std::string deployment_id;
  std::string app_id;
  Kind kind = Kind::run;
  std::string name;               // of the cron; else empty
  std::optional<Instant> minute;  // for which the cron was due; empty if somebody started it
  std::int64_t generation = 0;    // the rollout whose image and variables it has
  std::string process;            // whose size and place it has
  Texts command;
  std::string image;                        // pinned to its digest, if that was known
  std::optional<std::string> image_digest;  // that the runtime pulled
  std::chrono::seconds timeout{0};
  Status status = Status::pending;
  std::optional<int> exit_code;
  std::optional<Reason> reason;
  std::optional<std::string> message;     // in the cluster's own words
  std::optional<std::string> created_by;  // a user; empty for those of the platform
  Instant inserted_at;
  std::optional<Instant> made_at;  // when the cluster had the Job
  std::optional<Instant> started_at;
  std::optional<Instant> finished_at;
};

inline constexpr std::chrono::seconds least_timeout{1};
inline constexpr std::chrono::seconds most_timeout = std::chrono::hours(24);
// Also that of release commands and crons.
inline constexpr std::chrono::seconds default_timeout = std::chrono::hours(1);
// How many runs of a deployment, and of all deployments of an account, may be under way. Release
// commands are counted, but never refused for it.
inline constexpr int max_open_of_deployment = 5;
inline constexpr int max_open_of_account = 50;
// How many runs that are over are kept of a deployment, and for how long; their logs with them.
inline constexpr int kept_runs = 200;
inline constexpr Duration kept_for = std::chrono::hours(24) * 30;
inline constexpr std::size_t max_message_length = 1000;
// The end of a longer log is kept.
inline constexpr std::size_t max_log_bytes = 64 * 1024;

// ---- For the API --------------------------------------------------------------------------------

struct Order {
  Texts command;
  std::string process = {};  // empty: web, or the first one by name
  std::chrono::seconds timeout = default_timeout;
};
// Creates a run that waits for its container. The points for its first hour are held in the same
// transaction. Throws what deployments::get_owned() throws, deployment_destroyed,
// deployment_suspended; validation_failed for the command, the process or the timeout;
// invalid_state if the deployment is stopped or nothing of it has run yet; run_limit_reached;
// insufficient_balance or budget_reached. Needs a serializable write.
Run create(db::Tx& tx, const deployments::Actor& actor, const std::string& deployment_id,
           const Order& order);
// Returns the run. Throws what deployments::get_owned() throws, and run_not_found.
Run get_owned(db::Tx& tx, const std::string& app_id, const std::string& deployment_id,
              const std::string& id);
std::optional<Run> find(db::Tx& tx, const std::string& id);
// Returns the deployment's runs, newest first; of one kind, if it is set.
Page<Run> list(db::Tx& tx, const std::string& deployment_id, const PageRequest& page);
// Ends a run that isn't over; its container is then removed. Does nothing if it is over. Returns
// the run as it is afterwards. A release that is cancelled has failed.
Run cancel(db::Tx& tx, const deployments::Actor& actor, const std::string& deployment_id,
           const std::string& id);

// What was kept of the output of a run that is over.
struct Log {
  std::string lines;    // each is a container_logs::Line: its id, a tab, its text, a line end
  bool is_cut = false;  // the beginning is missing
};
// Returns nothing if no log was stored (store_log()).
std::optional<Log> log_of(db::Tx& tx, const std::string& id);

// ---- For the loop that makes the Jobs -----------------------------------------------------------

// Returns the runs that aren't over, oldest first: those whose ids come after `after`, at most
// `most`.
std::vector<Run> open_runs(db::Tx& tx, const std::string& after, int most);
// Returns those of one deployment. There are few.
std::vector<Run> open_of(db::Tx& tx, const std::string& deployment_id);

// What a run's Job is made of: the deployment as it was at the run's generation, with its image
// pinned; if that generation is no longer known, as it is now.
struct Wanted {
  Run run;
  deployments::DesiredState state;
  deployments::ProcessSpec process;  // with the run's command, and without a port
};
// Returns nothing if the run is over. Throws std::runtime_error if the data key isn't the one that
// encrypted the secrets.
std::optional<Wanted> wanted(db::Tx& tx, const std::string& id, const std::string& data_key);

// Records that the cluster has the run's Job. A Job is only made while the run is pending and this
// isn't recorded: its name follows from the run's id, so that making it twice makes one. If it is
// recorded and the cluster no longer has the Job, the run is `lost` and doesn't run again. Returns
// whether that changed anything.
bool record_made(db::Tx& tx, const std::string& id);

struct End {
  Instant at;  // by the container's runtime, or now if it isn't known
  std::optional<int> exit_code = {};
  std::optional<Reason> reason = {};  // none means that it succeeded
  std::string message = {};           // at most max_message_length bytes are kept
};
// What was seen of a run's container.
struct Seen {
  std::optional<Instant> started_at = {};
  std::optional<std::string> image_digest = {};
  std::optional<End> end = {};
};
// Records it. Of a run that is over, nothing changes. Writes the log entry and the event of a run
// that has failed, and wakes what waits for its deployment. Returns whether anything changed;
// would_change() says so beforehand, from a read.
bool record(db::Tx& tx, const std::string& id, const Seen& seen);
bool would_change(const Run& run, const Seen& seen);

// Stores the output of a run that is over or about to be; only the first one for a run is kept, and
// of it the last max_log_bytes, in whole lines. Does nothing if there is no such run.
void store_log(db::Tx& tx, const std::string& id, const Log& log);

// ---- For the other parts of the deployments -----------------------------------------------------

// To be called in the transaction that stops, suspends or deletes a deployment: cancels its runs.
void deployment_stops(db::Tx& tx, const std::string& deployment_id);

// Whether remove_old() would remove a run. Removes about `limit` runs that are over for longer than
// kept_for, and returns how many.
bool is_any_old(db::Tx& tx);
int remove_old(db::Tx& tx, int limit);
// Removes at most `limit` runs of a deployment that is destroyed. Returns how many.
int erase(db::Tx& tx, const std::string& deployment_id, int limit);

// How many runs wait and how many are running, for the metrics.
struct Counts {
  std::int64_t pending = 0;
  std::int64_t running = 0;
};
Counts counts(db::Tx& tx);

}  // namespace berth::runs
