#pragma once

#include <optional>
#include <string>

#include "controller/domain/deployments/revisions.h"
#include "controller/domain/deployments/runs/runs.h"

// How runs are stored. Private to runs/.
namespace berth::runs {

// Holds the points for the first hour of one more run of the deployment, before its row is there.
// Throws insufficient_balance or budget_reached, and then changes nothing.
void admit(db::Tx& tx, const std::string& deployment_id);
// Throws run_limit_reached if the deployment or its account has too many runs under way.
void check_limits(db::Tx& tx, const deployments::Deployment& deployment);
// Throws what create() throws for a deployment whose state allows no runs, and returns the rollout
// that they run with.
deployments::Revision runnable_revision(db::Tx& tx, const deployments::Deployment& deployment);
// Returns the process with that name; if there is none, or it is empty, web or the first one.
deployments::ProcessSpec process_of(const deployments::ContainerSpec& container,
                                    const std::string& name);

struct NewRun {
  Kind kind = Kind::run;
  std::string name = {};
  std::optional<Instant> minute = {};
  std::string process;
  Texts command;
  std::chrono::seconds timeout = default_timeout;
  std::optional<std::string> created_by = {};
};
// Inserts a run with the image of the revision and wakes the loop. Returns nothing if the rollout
// has its release, or the minute of the cron its run. Removes runs beyond kept_runs.
std::optional<Run> insert(db::Tx& tx, const deployments::Deployment& deployment,
                          const deployments::Revision& revision, const NewRun& wanted);

// Ends a run in status pending or running; does nothing to another one. Returns whether it did.
bool end(db::Tx& tx, const Run& run, Status status, Reason reason,
         const std::optional<std::string>& message = {});
// Makes a run pending again that ended before the cluster was told of it: it begins to wait now,
// for whoever owns the deployment now. Returns whether it did.
bool reopen(db::Tx& tx, const Run& run);
// Writes the log entry and the event of a run that has failed.
void tell_failure(db::Tx& tx, const Run& run);

// The deployment's newest run of a cron.
std::optional<Run> newest_of_cron(db::Tx& tx, const std::string& deployment_id,
                                  const std::string& name);
// The release of a rollout, and one of any rollout that isn't over.
std::optional<Run> release_run(db::Tx& tx, const std::string& deployment_id,
                               std::int64_t generation);
std::optional<Run> open_release(db::Tx& tx, const std::string& deployment_id);

}  // namespace berth::runs
