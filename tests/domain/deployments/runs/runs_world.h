#pragma once

#include <string>
#include <vector>

#include "controller/domain/deployments/runs/crons.h"
#include "controller/domain/deployments/runs/releases.h"
#include "controller/domain/deployments/runs/runs.h"
#include "tests/domain/deployments/billing/billing_world.h"

// An operator whose deployments run commands. Tests do what the loops would do.
namespace berth::test {

struct RunsWorld : BillingWorld {
  deployments::Deployment deploy_with(const deployments::ContainerSpec& container,
                                      const std::string& name = "shop",
                                      const std::string& tier = "wide") {
    deployments::Order wanted = order(name, tier);
    const std::string image = wanted.container.image;
    wanted.container = container;
    if (wanted.container.image.empty()) wanted.container.image = image;
    return deploy(app, wanted);
  }
  // Creates a deployment whose first rollout has run.
  std::string running_with(const deployments::ContainerSpec& container,
                           const std::string& name = "shop", const std::string& tier = "wide") {
    const std::string id = deploy_with(container, name, tier).id;
    seen_with_digest(id);
    return id;
  }
  void seen_with_digest(const std::string& id) {
    deployments::Observation seen;
    seen.status = deployments::Status::running;
    seen.image_digest = "ghcr.io/acme/web@sha256:" + std::string(64, '1');
    REQUIRE(record(id, find_deployment(id).generation, seen));
  }

  runs::Run run_command(const std::string& id, const runs::Order& wanted = {.command = {"./job"}}) {
    return write([&](db::Tx& tx) { return runs::create(tx, actor(app), id, wanted); });
  }
  std::string refused_run(const std::string& id,
                          const runs::Order& wanted = {.command = {"./job"}}) {
    return refusal([&] { run_command(id, wanted); });
  }
  runs::Run cancel(const runs::Run& run) {
    return write(
        [&](db::Tx& tx) { return runs::cancel(tx, actor(app), run.deployment_id, run.id); });
  }
  runs::Run find_run(const std::string& id) {
    return read([&](db::Tx& tx) { return *runs::find(tx, id); });
  }
  std::vector<runs::Run> all_runs(const std::string& id) {
    return read([&](db::Tx& tx) { return runs::list(tx, id, PageRequest{}).items; });
  }
  bool see(const runs::Run& run, const runs::Seen& seen) {
    return write([&](db::Tx& tx) { return runs::record(tx, run.id, seen); });
  }
  void begins(const runs::Run& run) {
    write([&](db::Tx& tx) { runs::record_made(tx, run.id); });
    see(run, {.started_at = clock.now()});
  }
  void ends(const runs::Run& run, int exit_code = 0) {
    see(run,
        {.started_at = clock.now(), .end = runs::End{.at = clock.now(), .exit_code = exit_code}});
  }

  releases::Release release_of(const std::string& id) {
    return read([&](db::Tx& tx) { return releases::release_of(tx, *deployments::find(tx, id)); });
  }
  releases::Release begin_release(const std::string& id) {
    return write([&](db::Tx& tx) { return releases::begin(tx, id); });
  }
  void patch_image(const std::string& id, const std::string& image) {
    deployments::Change wanted;
    wanted.set(&deployments::ContainerSpec::image, image);
    change(id, wanted);
  }

  // Does what the loop of crons would do now.
  std::vector<crons::Outcome> settle_crons() {
    std::vector<crons::Outcome> outcomes;
    for (;;) {
      const auto due = read([](db::Tx& tx) { return crons::due(tx, 50); });
      if (due.empty()) return outcomes;
      for (const auto& key : due)
        outcomes.push_back(write([&](db::Tx& tx) { return crons::settle_due(tx, key); }));
    }
  }
  std::vector<crons::State> crons_of(const std::string& id) {
    return read([&](db::Tx& tx) { return crons::states(tx, *deployments::find(tx, id)); });
  }
  runs::Run start_cron(const std::string& id, const std::string& name) {
    return write([&](db::Tx& tx) { return crons::start(tx, actor(app), id, name); });
  }
  std::int64_t events(const std::string& type) {
    return read([&](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM app_events WHERE type = $1", type);
    });
  }
};

inline deployments::ContainerSpec with_cron(const std::string& schedule,
                                            const std::string& zone = "UTC") {
  deployments::ContainerSpec container;
  container.crons = {
      {.name = "tick", .schedule = schedule, .zone = zone, .command = {"./tick"}, .process = ""}};
  return container;
}

}  // namespace berth::test
