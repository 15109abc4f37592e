#include "controller/domain/deployments/runs/releases.h"

#include <catch2/catch.hpp>

#include "controller/domain/deployments/rollback.h"
#include "tests/domain/deployments/runs/runs_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using deployments::ContainerSpec;
using deployments::Observation;
using deployments::Reason;
using releases::State;

ContainerSpec with_release(const runs::Texts& command = {"./migrate"}) {
  ContainerSpec container;
  container.release_command = command;
  return container;
}

struct Fixture : RunsWorld {
  std::string id = deploy_with(with_release()).id;
  State state() { return release_of(id).state; }
  runs::Run begun() { return *begin_release(id).run; }
  void rollout_runs() { seen_with_digest(id); }
};

}  // namespace

TEST_CASE("a rollout with a release command waits for it, and has it once") {
  Fixture f;
  CHECK(f.state() == State::needed);
  CHECK_FALSE(f.release_of(f.id).lets_rollout_go_on());
  const runs::Run run = f.begun();
  CHECK(run.kind == runs::Kind::release);
  CHECK(run.command == runs::Texts{"./migrate"});
  CHECK(run.image == "ghcr.io/acme/web:1");
  CHECK(f.state() == State::under_way);
  CHECK(f.begin_release(f.id).run->id == run.id);
  CHECK(f.all_runs(f.id).size() == 1);
  f.begins(run);
  CHECK(f.state() == State::under_way);
  f.ends(run);
  CHECK(f.state() == State::succeeded);
  CHECK(f.release_of(f.id).lets_rollout_go_on());
  f.rollout_runs();
  CHECK(f.state() == State::none);
  CHECK(f.begin_release(f.id).state == State::none);
  CHECK(f.all_runs(f.id).size() == 1);
}

TEST_CASE("each rollout has a release: changes and restarts") {
  Fixture f;
  f.ends(f.begun());
  f.rollout_runs();
  f.patch_image(f.id, "ghcr.io/acme/web:2");
  CHECK(f.state() == State::needed);
  const runs::Run second = f.begun();
  CHECK(second.image == "ghcr.io/acme/web:2");
  f.ends(second);
  f.rollout_runs();
  f.restart(f.app, f.id);
  CHECK(f.state() == State::needed);
  f.ends(f.begun());
  f.rollout_runs();
  CHECK(f.all_runs(f.id).size() == 3);
  // What replaces no container has none, and neither has a rollout that began before the command.
  deployments::Change change;
  change.set(&ContainerSpec::replicas, 2);
  f.change(f.id, change);
  CHECK(f.state() == State::none);
  const std::string other = f.running_with({}, "other");
  deployments::Change later;
  later.set(&ContainerSpec::release_command, runs::Texts{"./migrate"});
  f.change(other, later);
  CHECK(f.release_of(other).state == State::none);
  f.restart(f.app, other);
  CHECK(f.release_of(other).state == State::needed);
}

TEST_CASE("a rollback has no release: what it goes back to had its own") {
  Fixture f;
  f.ends(f.begun());
  f.rollout_runs();
  f.patch_image(f.id, "ghcr.io/acme/web:2");
  f.ends(f.begun());
  f.rollout_runs();
  deployments::Change later;
  later.set(&ContainerSpec::release_command, runs::Texts{"./migrate", "--all"});
  f.change(f.id, later);
  f.write([&](db::Tx& tx) {
    deployments::rollback(tx, f.actor(f.app), f.id, std::nullopt, f.rules, f.keys.data);
  });
  CHECK(f.find_deployment(f.id).container.image.starts_with("ghcr.io/acme/web:1"));
  CHECK(f.state() == State::none);
  CHECK(f.begin_release(f.id).state == State::none);
  CHECK(f.all_runs(f.id).size() == 2);
  // The command stays the deployment's own for what comes next.
  CHECK(f.find_deployment(f.id).container.release_command == runs::Texts{"./migrate", "--all"});
  f.rollout_runs();
  f.patch_image(f.id, "ghcr.io/acme/web:3");
  CHECK(f.state() == State::needed);
  CHECK(f.begun().command == runs::Texts{"./migrate", "--all"});
}

TEST_CASE("a release that fails keeps the rollout from beginning until the next one") {
  Fixture f;
  f.ends(f.begun());
  f.rollout_runs();
  f.patch_image(f.id, "ghcr.io/acme/web:2");
  const runs::Run run = f.begun();
  f.ends(run, 7);
  CHECK(f.state() == State::failed);
  CHECK(releases::message_of(f.find_run(run.id)).find("exit code 7") != std::string::npos);
  Observation seen;
  seen.status = deployments::Status::running;  // what ran before goes on
  seen.reason = Reason::release_failed;
  seen.message = releases::message_of(f.find_run(run.id));
  const auto generation = f.find_deployment(f.id).generation;
  CHECK(f.record(f.id, generation, seen));
  CHECK(f.logs(f.id).back().status == deployments::LogStatus::failed);
  CHECK(f.state() == State::failed);  // the rollout isn't taken for one that ran
  CHECK(f.find_deployment(f.id).status == deployments::Status::running);
  f.restart(f.app, f.id);
  CHECK(f.state() == State::needed);
  CHECK_FALSE(f.find_deployment(f.id).reason);
}

TEST_CASE("another command after a failed release begins the rollout anew") {
  Fixture f;
  f.ends(f.begun(), 1);
  const auto before = f.find_deployment(f.id).generation;
  deployments::Change change;
  change.set(&ContainerSpec::release_command, runs::Texts{"./migrate", "--again"});
  f.change(f.id, change);
  CHECK(f.find_deployment(f.id).generation == before + 1);
  CHECK(f.state() == State::needed);
  const runs::Run again = f.begun();
  CHECK(again.command == runs::Texts{"./migrate", "--again"});
  deployments::Change none;
  none.set(&ContainerSpec::release_command, runs::Texts{});
  f.ends(again, 1);
  f.change(f.id, none);
  CHECK(f.state() == State::none);
}

TEST_CASE("releases of one deployment never run side by side") {
  Fixture f;
  const runs::Run first = f.begun();
  f.begins(first);
  f.patch_image(f.id, "ghcr.io/acme/web:2");
  CHECK(f.find_run(first.id).status == runs::Status::running);
  CHECK(f.state() == State::under_way);
  CHECK(f.begin_release(f.id).run->id == first.id);
  CHECK(f.all_runs(f.id).size() == 1);
  f.ends(first, 1);
  CHECK(f.state() == State::needed);
  CHECK(f.begun().image == "ghcr.io/acme/web:2");
}

TEST_CASE("a release that the cluster doesn't have yet gives way to the next rollout's") {
  Fixture f;
  const runs::Run first = f.begun();
  f.patch_image(f.id, "ghcr.io/acme/web:2");
  CHECK(f.find_run(first.id).reason == runs::Reason::superseded);
  CHECK(f.state() == State::needed);
}

TEST_CASE("a rollout whose release hasn't run doesn't begin because a newer one needs none") {
  Fixture f;
  const auto before = f.find_deployment(f.id);
  deployments::Change change;
  change.set(&ContainerSpec::image, std::string("ghcr.io/acme/web:2"));
  change.set(&ContainerSpec::release_command, runs::Texts{});
  f.change(f.id, change);
  CHECK(f.state() == State::none);
  const auto release = f.read([&](db::Tx& tx) { return releases::release_of(tx, before); });
  CHECK(release.state == State::under_way);
  CHECK(f.all_runs(f.id).empty());
}

TEST_CASE("a stopped deployment has its release when it starts") {
  Fixture f;
  f.ends(f.begun());
  f.rollout_runs();
  f.stop(f.app, f.id);
  f.patch_image(f.id, "ghcr.io/acme/web:2");
  CHECK(f.state() == State::none);
  CHECK(f.begin_release(f.id).state == State::none);
  f.restart(f.app, f.id);
  CHECK(f.state() == State::needed);
}

TEST_CASE("a release that a suspension cut off is needed again, and one that had run isn't") {
  Fixture f;
  const runs::Run cut_off = f.begun();
  f.begins(cut_off);
  f.suspend(f.id);
  CHECK(f.find_run(cut_off.id).reason == runs::Reason::deployment_stopped);
  CHECK(f.state() == State::none);
  f.reactivate(f.id);
  CHECK(f.state() == State::needed);
  f.ends(f.begun());
  f.rollout_runs();
  f.suspend(f.id);
  f.reactivate(f.id);
  CHECK(f.state() == State::none);
  CHECK(f.all_runs(f.id).size() == 2);
}

TEST_CASE("the release of a rollout that hasn't run is kept, however old it is") {
  Fixture f;
  f.ends(f.begun(), 1);
  f.clock.advance(runs::kept_for * 2);
  CHECK_FALSE(f.read(runs::is_any_old));
  f.write([](db::Tx& tx) { return runs::remove_old(tx, 100); });
  CHECK(f.state() == State::failed);
}

TEST_CASE("a release that can't be paid has failed") {
  RunsWorld w;
  tiers::Tier tier = paid_tier("hourly", 0);
  tier.points_per_hour = 100;
  w.new_tier(tier);
  w.give(100);
  const std::string id = w.deploy_with(with_release(), "shop", "hourly").id;
  w.write([&](db::Tx& tx) {
    tx.execute("UPDATE ledger_accounts SET balance = 50, held = 0 WHERE id = $1",
               "app:" + w.app.id);
  });
  const auto release = w.begin_release(id);
  CHECK(release.state == State::failed);
  CHECK(release.run->reason == runs::Reason::points_missing);
  CHECK(w.events("deployment.run_failed") == 1);
  CHECK(w.begin_release(id).run->id == release.run->id);
  // The loop of the cluster records that.
  Observation seen;
  seen.status = deployments::Status::errored;
  seen.reason = Reason::release_failed;
  REQUIRE(w.record(id, w.find_deployment(id).generation, seen));
  const auto unpaid = [&](const std::string& app) {
    return w.read([&](db::Tx& tx) { return releases::unpaid(tx, {}, app, 10); });
  };
  const auto retried = [&] {
    return w.write([&](db::Tx& tx) { return releases::retry_unpaid(tx, id); });
  };
  using Ids = std::vector<std::string>;
  CHECK(unpaid("") == Ids{id});
  CHECK(unpaid(w.app.id) == Ids{id});
  CHECK(unpaid("another app").empty());
  CHECK(w.read([&](db::Tx& tx) {
           return releases::unpaid(tx, {.app_id = w.app.id, .id = id}, "", 10);
         }).empty());
  CHECK_FALSE(retried());
  CHECK(w.release_of(id).state == State::failed);
  // Meanwhile the app is given to somebody else.
  const auto eve = w.verified_user("eve");
  w.write([&](db::Tx& tx) {
    tx.execute("UPDATE deployments SET owner_id = $2 WHERE id = $1", id, eve.id);
  });
  w.clock.advance(std::chrono::hours(30));
  w.give(1'000);
  CHECK(retried());
  // The cluster has the whole time that a new run has.
  CHECK(w.release_of(id).run->inserted_at == w.clock.now());
  CHECK(w.read([&](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM deployment_runs WHERE owner_id = $1", eve.id);
  }) == 1);
  CHECK(w.release_of(id).state == State::under_way);
  CHECK(w.release_of(id).run->id == release.run->id);
  CHECK(w.release_of(id).run->status == runs::Status::pending);
  CHECK_FALSE(w.release_of(id).run->reason);
  CHECK_FALSE(retried());
  CHECK(unpaid("").empty());
  w.ends(*w.release_of(id).run);
  CHECK(w.release_of(id).lets_rollout_go_on());
}

TEST_CASE("a release that failed by itself isn't tried again when points arrive") {
  Fixture f;
  const runs::Run run = f.begun();
  f.ends(run, 7);
  Observation seen;
  seen.status = deployments::Status::errored;
  seen.reason = Reason::release_failed;
  REQUIRE(f.record(f.id, f.find_deployment(f.id).generation, seen));
  CHECK(f.read([&](db::Tx& tx) { return releases::unpaid(tx, {}, "", 10); }).empty());
  CHECK_FALSE(f.write([&](db::Tx& tx) { return releases::retry_unpaid(tx, f.id); }));
  CHECK(f.state() == State::failed);
}
