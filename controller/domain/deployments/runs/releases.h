#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/runs/runs.h"

// Release commands: each rollout of a deployment with a `release_command` begins only after that
// command has succeeded, with the rollout's image and variables. What counts is the command that
// the deployment had when the rollout began.
//
// The rollouts are those that have a revision: a creation, a change that replaces containers, and a
// restart. A rollback has no release: what it goes back to had its own, and an older image's
// command mostly fails at the newer database (docs/decisions/deployments.md). Neither has a change
// of size that comes to the running containers. One that begins while the deployment is stopped has
// its release when the deployment starts; a deployment that ran, is suspended and starts again
// unchanged has had its. Releases of one deployment never run side by side.
namespace berth::releases {

enum class State {
  none,       // the rollout needs none: it may go on
  needed,     // begin() has to be called
  under_way,  // the rollout has to wait
  succeeded,  // the rollout may go on
  failed      // the rollout doesn't begin; what ran before goes on
};

struct Release {
  State state = State::none;
  std::int64_t generation = 0;   // of the rollout; 0 for `none`
  std::optional<runs::Run> run;  // that it waits for, or that has ended; else none
  bool lets_rollout_go_on() const { return state == State::none || state == State::succeeded; }
};
// Returns the release of the deployment's newest rollout: `none` if it has no command, if it has
// run, and while the deployment is stopped. If a newer rollout than that of `deployment` has begun
// since it was read, it is `under_way`: the older one must not go on. Up to three look-ups in
// indexes; one if there is no command.
Release release_of(db::Tx& tx, const deployments::Deployment& deployment);

// What an observation says of a release that failed, after Reason::release_failed.
std::string message_of(const runs::Run& run);

// Makes the run of the newest rollout's release, unless there is one: a rollout never has two,
// whoever asks how often. Returns the state afterwards: under_way, or failed if the points for it
// are missing; anything else if it isn't `needed` any more, for example because the deployment is
// stopped. Needs a serializable write.
Release begin(db::Tx& tx, const std::string& deployment_id);

// Which deployments wait for points, because their newest rollout's release was refused for want of
// them, or because of a budget: those after `after` in the order of apps and ids, or those of one
// app with a greater id. At most `most`.
struct Unpaid {
  std::string app_id;
  std::string id;
};
std::vector<std::string> unpaid(db::Tx& tx, const Unpaid& after, const std::string& app_id,
                                int most);
// Has such a release run after all, if it can be paid now. Returns whether it does. Needs a
// serializable write.
bool retry_unpaid(db::Tx& tx, const std::string& deployment_id);

// To be called when a new rollout begins: cancels the release of an earlier one, unless the cluster
// has its Job already. Such a one runs to its end, because half a migration is worse than one that
// comes too late, and the new rollout's release waits for it.
void rollout_begins(db::Tx& tx, const std::string& deployment_id);
// To be called when a deployment starts again without a new rollout, after its generation was
// raised: if stopping it cut its release off, its rollout belongs to the new generation from now
// on, and needs a release again.
void deployment_starts(db::Tx& tx, const std::string& deployment_id);

}  // namespace berth::releases
