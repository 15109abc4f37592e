#include "controller/domain/deployments/runs/runs.h"

#include <algorithm>

#include "controller/base/error.h"
#include "controller/domain/deployments/app_variable_rows.h"
#include "controller/domain/deployments/container.h"
#include "controller/domain/deployments/runs/run_rows.h"

namespace berth::runs {
namespace {

using deployments::Deployment;

void check(const Order& order, const Deployment& deployment) {
  Details wrong;
  deployments::ContainerSpec container;
  container.command = order.command;
  if (order.command.empty()) wrong["command"].push_back("must have at least one word");
  if (!is_within_limits(container, field_of(&deployments::ContainerSpec::command)))
    wrong["command"].emplace_back(deployments::arguments_must);
  if (order.timeout < least_timeout || order.timeout > most_timeout)
    wrong["timeout_seconds"].push_back("must be between 1 and 86400");
  const auto processes = deployments::processes_of(deployment.container);
  if (!order.process.empty() &&
      std::ranges::find(processes, order.process, &deployments::ProcessSpec::name) ==
          processes.end())
    wrong["process"].push_back("must be the name of one of the deployment's processes");
  if (!wrong.empty())
    throw Error(Code::validation_failed, "the run's order is wrong; see details", wrong);
}

}  // namespace

Run create(db::Tx& tx, const deployments::Actor& actor, const std::string& deployment_id,
           const Order& order) {
  tx.require_serializable();
  const Deployment deployment = deployments::get_living(tx, actor, deployment_id);
  check(order, deployment);
  const auto revision = runnable_revision(tx, deployment);
  check_limits(tx, deployment);
  admit(tx, deployment_id);
  return *insert(tx, deployment, revision,
                 {.kind = Kind::run,
                  .process = process_of(deployment.container, order.process).name,
                  .command = order.command,
                  .timeout = order.timeout,
                  .created_by = actor.user_id});
}

Run get_owned(db::Tx& tx, const std::string& app_id, const std::string& deployment_id,
              const std::string& id) {
  const Deployment deployment = deployments::get_owned(tx, app_id, deployment_id);
  auto run = find(tx, id);
  if (!run || run->deployment_id != deployment.id)
    throw Error(Code::run_not_found, "the deployment has no such run; the newest " +
                                         std::to_string(kept_runs) + " are kept, for 30 days");
  return std::move(*run);
}

Run cancel(db::Tx& tx, const deployments::Actor& actor, const std::string& deployment_id,
           const std::string& id) {
  const Run run = get_owned(tx, actor.app_id, deployment_id, id);
  end(tx, run, Status::cancelled, Reason::cancelled_by_owner);
  return *find(tx, id);
}

std::optional<Wanted> wanted(db::Tx& tx, const std::string& id, const std::string& data_key) {
  auto run = find(tx, id);
  if (!run || is_over(run->status)) return std::nullopt;
  auto state = deployments::desired_state(tx, run->deployment_id, data_key);
  if (!state) return std::nullopt;
  deployments::ContainerSpec& container = state->deployment.container;
  if (const auto revision = deployments::revision_of(tx, run->deployment_id, run->generation)) {
    container = revision->container;
    state->secrets = deployments::with_inherited(
        deployments::open(revision->secrets, run->deployment_id, data_key),
        deployments::secrets_of_app(tx, run->app_id, data_key));
  }
  container.image = run->image;
  deployments::ProcessSpec process = process_of(container, run->process);
  process.command = run->command;
  process.args.clear();
  process.port.reset();
  process.health_path.clear();
  process.replicas = 1;
  process.scale.reset();
  return Wanted{.run = std::move(*run), .state = std::move(*state), .process = std::move(process)};
}

void deployment_stops(db::Tx& tx, const std::string& deployment_id) {
  for (const Run& run : open_of(tx, deployment_id))
    end(tx, run, Status::cancelled, Reason::deployment_stopped);
}

}  // namespace berth::runs
