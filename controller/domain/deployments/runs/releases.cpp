#include "controller/domain/deployments/runs/releases.h"

#include "controller/base/error.h"
#include "controller/domain/deployments/runs/run_rows.h"

namespace berth::releases {
namespace {

using deployments::Deployment;
using deployments::RolloutKind;
using runs::Run;

struct Rollout {
  std::int64_t generation = 0;
  // It has a release command, is no rollback, and hasn't run yet. One that ran had its release,
  // whose row may be gone.
  bool has_release = false;
};

std::optional<Rollout> newest_rollout(db::Tx& tx, const std::string& deployment_id) {
  auto rows = tx.query(R"(
      SELECT generation, kind, release_command, succeeded_at
      FROM deployment_revisions
      WHERE deployment_id = $1
      ORDER BY generation DESC
      LIMIT 1)",
                       deployment_id);
  if (!rows.next()) return std::nullopt;
  return Rollout{.generation = rows.integer("generation"),
                 .has_release = rows.text("release_command") != "[]" &&
                                rows.text("kind") != to_string(RolloutKind::rollback) &&
                                rows.null("succeeded_at")};
}

State state_of(const Run& run) {
  if (!runs::is_over(run.status)) return State::under_way;
  return run.status == runs::Status::succeeded ? State::succeeded : State::failed;
}

// Why the points for a release were refused; nothing if they are held.
std::optional<std::string> refusal_of_points(db::Tx& tx, const std::string& deployment_id) {
  try {
    runs::admit(tx, deployment_id);
    return std::nullopt;
  } catch (const Error& refused) {
    if (refused.code != Code::insufficient_balance && refused.code != Code::budget_reached) throw;
    return refused.what();
  }
}

std::string cause_of(const Run& run) {
  if (!run.reason) return "it failed";
  switch (*run.reason) {
    case runs::Reason::command_failed:
      return "it ended with the exit code " + std::to_string(run.exit_code.value_or(1));
    case runs::Reason::timed_out:
      return "it took longer than " + std::to_string(run.timeout.count()) + " seconds";
    case runs::Reason::out_of_memory:
      return "it used more memory than its container has";
    case runs::Reason::image_pull_failed:
      return "its image can't be pulled";
    case runs::Reason::not_started:
      return "its container didn't start";
    case runs::Reason::lost:
      return "its container is gone, and nobody knows how it ended";
    case runs::Reason::points_missing:
      return "it can't be paid";
    case runs::Reason::cancelled_by_owner:
      return "it was cancelled";
    case runs::Reason::superseded:
      return "a newer rollout came before it";
    case runs::Reason::deployment_stopped:
      return "the deployment was stopped meanwhile";
  }
  return "it failed";
}

}  // namespace

Release release_of(db::Tx& tx, const Deployment& deployment) {
  using deployments::Status;
  if (deployment.status == Status::stopped || deployment.status == Status::destroyed) return {};
  const auto rollout = newest_rollout(tx, deployment.id);
  if (!rollout) return {};
  const std::int64_t generation = rollout->generation;
  // The newer rollout may need no release where the one of `deployment` did.
  if (generation > deployment.generation)
    return {.state = State::under_way, .generation = generation, .run = {}};
  if (!rollout->has_release) return {};
  if (auto run = runs::release_run(tx, deployment.id, generation))
    return {.state = state_of(*run), .generation = generation, .run = std::move(run)};
  // Two releases must not run side by side, and one that runs isn't cut off by the next rollout.
  if (auto earlier = runs::open_release(tx, deployment.id))
    return {.state = State::under_way, .generation = generation, .run = std::move(earlier)};
  return {.state = State::needed, .generation = generation, .run = {}};
}

std::string message_of(const Run& run) {
  const std::string words = run.message ? ": " + *run.message : "";
  return "the release command didn't succeed, so that the rollout didn't begin: " + cause_of(run) +
         words +
         "; `berth runs log` shows its output, and the next change or restart runs it again";
}

Release begin(db::Tx& tx, const std::string& deployment_id) {
  tx.require_serializable();
  const auto deployment = deployments::find(tx, deployment_id);
  if (!deployment) return {};
  Release release = release_of(tx, *deployment);
  if (release.state != State::needed) return release;
  const auto revision = deployments::revision_of(tx, deployment_id, release.generation);
  const auto refusal = refusal_of_points(tx, deployment_id);
  release.run = runs::insert(tx, *deployment, *revision,
                             {.kind = runs::Kind::release,
                              .process = runs::process_of(revision->container, "").name,
                              .command = revision->container.release_command,
                              .created_by = revision->initiated_by});
  if (refusal) {
    runs::end(tx, *release.run, runs::Status::failed, runs::Reason::points_missing, refusal);
    release.run = runs::find(tx, release.run->id);
    runs::tell_failure(tx, *release.run);
  }
  release.state = state_of(*release.run);
  return release;
}

std::vector<std::string> unpaid(db::Tx& tx, const Unpaid& after, const std::string& app_id,
                                int most) {
  // The release of the newest rollout was refused.
  static const std::string refused = R"(
      SELECT d.id
      FROM deployments d
      WHERE d.reason = 'release_failed'
        AND d.status NOT IN ('stopped', 'destroyed')
        AND EXISTS (SELECT 1
                    FROM deployment_runs r
                    WHERE r.deployment_id = d.id
                      AND r.generation = (SELECT max(v.generation)
                                          FROM deployment_revisions v
                                          WHERE v.deployment_id = d.id)
                      AND r.kind = 'release'
                      AND r.reason = 'points_missing')
  )";
  static const std::string of_all = refused + R"(
        AND (d.app_id, d.id) > ($1, $2)
      ORDER BY d.app_id, d.id
      LIMIT $3)";
  static const std::string of_app = refused + R"(
        AND d.app_id = $1 AND d.id > $2
      ORDER BY d.id
      LIMIT $3)";
  std::vector<std::string> ids;
  auto rows = app_id.empty() ? tx.query(of_all, after.app_id, after.id, most)
                             : tx.query(of_app, app_id, after.id, most);
  while (rows.next()) ids.push_back(rows.text("id"));
  return ids;
}

bool retry_unpaid(db::Tx& tx, const std::string& deployment_id) {
  tx.require_serializable();
  const auto deployment = deployments::find(tx, deployment_id);
  if (!deployment) return false;
  const Release release = release_of(tx, *deployment);
  if (release.state != State::failed || release.run->reason != runs::Reason::points_missing ||
      refusal_of_points(tx, deployment_id))
    return false;
  return runs::reopen(tx, *release.run);
}

void rollout_begins(db::Tx& tx, const std::string& deployment_id) {
  for (const Run& run : runs::open_of(tx, deployment_id))
    if (run.kind == runs::Kind::release && run.status == runs::Status::pending && !run.made_at)
      runs::end(tx, run, runs::Status::cancelled, runs::Reason::superseded);
}

void deployment_starts(db::Tx& tx, const std::string& deployment_id) {
  tx.execute_later(R"(
      UPDATE deployment_revisions
      SET generation = (SELECT d.generation FROM deployments d WHERE d.id = $1)
      WHERE deployment_id = $1
        AND succeeded_at IS NULL
        AND EXISTS (SELECT 1
                    FROM deployment_runs r
                    WHERE r.deployment_id = deployment_revisions.deployment_id
                      AND r.generation = deployment_revisions.generation
                      AND r.kind = 'release'
                      AND r.reason = 'deployment_stopped'))",
                   deployment_id);
}

}  // namespace berth::releases
