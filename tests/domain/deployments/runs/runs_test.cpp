#include "controller/domain/deployments/runs/runs.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "controller/domain/deployments/metering/settlement.h"
#include "tests/domain/deployments/runs/runs_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::ContainerSpec;
using runs::Kind;
using runs::Reason;
using runs::Run;
using runs::Status;

struct Fixture : RunsWorld {
  std::string id = running_with({});
};

}  // namespace

TEST_CASE("a command waits, runs and ends, with the image of the rollout that ran last") {
  Fixture f;
  const Run made = f.run_command(f.id, {.command = {"./job", "--all"}, .timeout = 90s});
  CHECK(made.status == Status::pending);
  CHECK(made.kind == Kind::run);
  CHECK(made.process == "web");
  CHECK(made.command == runs::Texts{"./job", "--all"});
  CHECK(made.timeout == 90s);
  CHECK(made.created_by == f.ada.id);
  CHECK(made.generation == 1);
  CHECK(made.image == "ghcr.io/acme/web:1@sha256:" + std::string(64, '1'));
  CHECK(f.write([&](db::Tx& tx) { return runs::record_made(tx, made.id); }));
  CHECK_FALSE(f.write([&](db::Tx& tx) { return runs::record_made(tx, made.id); }));
  f.clock.advance(2s);
  const Instant began = f.clock.now();
  CHECK(f.see(made, {.started_at = began}));
  CHECK_FALSE(f.see(made, {.started_at = began}));
  CHECK(f.find_run(made.id).status == Status::running);
  f.clock.advance(3s);
  CHECK(f.see(made, {.end = runs::End{.at = f.clock.now(), .exit_code = 0}}));
  const Run ended = f.find_run(made.id);
  CHECK(ended.status == Status::succeeded);
  CHECK(ended.exit_code == 0);
  CHECK(ended.started_at == began);
  CHECK(ended.finished_at == began + 3s);
  // What is told again, or too late, changes nothing.
  CHECK_FALSE(f.see(made, {.end = runs::End{.at = f.clock.now(), .exit_code = 1}}));
  CHECK(f.find_run(made.id).exit_code == 0);
  CHECK(f.events("deployment.run_failed") == 0);
}

TEST_CASE("a command that fails is a log entry and an event, once") {
  Fixture f;
  const Run run = f.run_command(f.id);
  f.begins(run);
  f.ends(run, 3);
  f.ends(run, 3);
  const Run ended = f.find_run(run.id);
  CHECK(ended.status == Status::failed);
  CHECK(ended.reason == Reason::command_failed);
  CHECK(f.events("deployment.run_failed") == 1);
  const auto entry = f.logs(f.id).back();
  CHECK(entry.action == deployments::LogAction::run);
  CHECK(entry.status == deployments::LogStatus::failed);
  CHECK(entry.initiated_by == f.ada.id);
  const auto details = nlohmann::json::parse(*entry.details);
  CHECK(details["exit_code"] == 3);
  CHECK(details["reason"] == "command_failed");
  CHECK(details["run_id"] == run.id);
}

TEST_CASE("what a command wrote last may have any characters") {
  Fixture f;
  const Run run = f.run_command(f.id);
  const std::string words("no\0table", 8);
  REQUIRE(f.see(run, {.started_at = f.clock.now(),
                      .end = runs::End{.at = f.clock.now(), .exit_code = 1, .message = words}}));
  CHECK(f.find_run(run.id).message == "no table");
  // That of the deployment's own containers, too.
  deployments::Observation seen;
  seen.status = deployments::Status::errored;
  seen.reason = deployments::Reason::crash_loop;
  seen.message = words;
  const auto generation = f.find_deployment(f.id).generation;
  REQUIRE(f.record(f.id, generation, seen));
  CHECK(f.find_deployment(f.id).message == "no table");
  CHECK_FALSE(deployments::differs(f.find_deployment(f.id), seen));
}

TEST_CASE("times that can't be are cut to what is possible") {
  Fixture f;
  const Run run = f.run_command(f.id);
  f.see(run, {.started_at = f.clock.now() + 1h});
  f.see(run, {.end = runs::End{.at = f.clock.now() - 1h, .exit_code = 0}});
  const Run ended = f.find_run(run.id);
  CHECK(ended.started_at == f.clock.now());
  CHECK(ended.finished_at == ended.started_at);
}

TEST_CASE("a run is cancelled once, and what comes then changes nothing") {
  Fixture f;
  const Run run = f.run_command(f.id);
  f.begins(run);
  CHECK(f.cancel(run).status == Status::cancelled);
  CHECK(f.find_run(run.id).reason == Reason::cancelled_by_owner);
  const auto writes = f.find_run(run.id).finished_at;
  f.clock.advance(1s);
  CHECK(f.cancel(run).finished_at == writes);
  f.ends(run, 137);
  CHECK(f.find_run(run.id).status == Status::cancelled);
  CHECK(f.events("deployment.run_failed") == 0);
  CHECK_FALSE(f.read([&](db::Tx& tx) { return runs::wanted(tx, run.id, f.keys.data); }));
}

TEST_CASE("orders of runs are checked") {
  Fixture f;
  const auto wrong = [&](const runs::Order& wanted) {
    const auto named = details([&] { f.run_command(f.id, wanted); });
    return named.empty() ? std::string() : named.begin()->first;
  };
  CHECK(wrong({.command = {}}) == "command");
  CHECK(wrong({.command = runs::Texts(65, "x")}) == "command");
  CHECK(wrong({.command = {std::string(4097, 'x')}}) == "command");
  CHECK(wrong({.command = {"a\x01"}}) == "command");
  CHECK(wrong({.command = {"x"}, .process = "worker"}) == "process");
  CHECK(wrong({.command = {"x"}, .timeout = 0s}) == "timeout_seconds");
  CHECK(wrong({.command = {"x"}, .timeout = 24h + 1s}) == "timeout_seconds");
  CHECK(wrong({.command = {"x"}, .process = "web", .timeout = 24h}).empty());
  CHECK(f.all_runs(f.id).size() == 1);
}

TEST_CASE("a deployment that can't run commands refuses them and says what to do") {
  Fixture f;
  const std::string fresh = f.deploy_with({}, "fresh").id;
  CHECK(f.refused_run(fresh) == "409 invalid_state");
  f.stop(f.app, f.id);
  CHECK(f.refused_run(f.id) == "409 invalid_state");
  f.restart(f.app, f.id);
  CHECK(f.refused_run(f.id).empty());  // the rollout before it ran
  f.suspend(f.id);
  CHECK(f.refused_run(f.id) == "403 deployment_suspended");
  f.destroy(f.app, f.id);
  CHECK(f.refused_run(f.id) == "422 deployment_destroyed");
  const auto bobs = f.approved_app(f.verified_user("bob"), {Scope::deploy_manage});
  CHECK(refusal([&] {
          f.write([&](db::Tx& tx) {
            return runs::create(tx, f.actor(bobs), fresh, {.command = {"x"}});
          });
        }) == "403 forbidden");
}

TEST_CASE("a deployment and an account have limits of runs under way") {
  Fixture f;
  std::vector<Run> open;
  for (int i = 0; i < runs::max_open_of_deployment; ++i) open.push_back(f.run_command(f.id));
  CHECK(f.refused_run(f.id) == "409 run_limit_reached");
  f.cancel(open.front());
  CHECK(f.refused_run(f.id).empty());
  int made = runs::max_open_of_deployment;
  for (int i = 0; made < runs::max_open_of_account; ++i) {
    const std::string other = f.running_with({}, "other-" + std::to_string(i));
    for (int j = 0; j < runs::max_open_of_deployment; ++j, ++made) f.run_command(other);
  }
  CHECK(f.refused_run(f.running_with({}, "last")) == "409 run_limit_reached");
}

TEST_CASE("a stop, a suspension and a deletion cancel what is under way") {
  Fixture f;
  const auto open = [&] {
    return f.read([&](db::Tx& tx) { return runs::open_of(tx, f.id); }).size();
  };
  const Run run = f.run_command(f.id);
  f.begins(run);
  f.run_command(f.id);
  f.stop(f.app, f.id);
  CHECK(open() == 0);
  CHECK(f.find_run(run.id).status == Status::cancelled);
  CHECK(f.find_run(run.id).reason == Reason::deployment_stopped);
  f.restart(f.app, f.id);
  f.run_command(f.id);
  f.suspend(f.id);
  CHECK(open() == 0);
  f.reactivate(f.id);
  f.run_command(f.id);
  f.destroy(f.app, f.id);
  CHECK(open() == 0);
}

TEST_CASE("a run has the variables and the image of its rollout, not those of one that fails") {
  RunsWorld w;
  deployments::Order wanted = order();
  wanted.secrets.env = {{"COLOR", "blue"}};
  const std::string id = w.deploy(w.app, wanted).id;
  w.seen_with_digest(id);
  deployments::Change change;
  change.set(&ContainerSpec::image, "ghcr.io/acme/web:2");
  change.env = {{"COLOR", "red"}};
  w.change(id, change);  // which never runs
  const Run run = w.run_command(id);
  const auto state = *w.read([&](db::Tx& tx) { return runs::wanted(tx, run.id, w.keys.data); });
  CHECK(state.run.generation == 1);
  CHECK(state.state.secrets.env.at("COLOR") == "blue");
  CHECK(state.state.deployment.container.image ==
        "ghcr.io/acme/web:1@sha256:" + std::string(64, '1'));
  CHECK(state.process.command == runs::Texts{"./job"});
  CHECK(state.process.args.empty());
  CHECK_FALSE(state.process.port);
}

TEST_CASE("runs that are over are kept up to a number and for a time, with their logs") {
  Fixture f;
  const Run first = f.run_command(f.id);
  f.ends(first);
  f.write([&](db::Tx& tx) {
    runs::store_log(tx, first.id, {.lines = "1\tone\n", .is_cut = false});
    runs::store_log(tx, first.id, {.lines = "2\ttwo\n", .is_cut = false});
  });
  CHECK(f.read([&](db::Tx& tx) { return runs::log_of(tx, first.id); })->lines == "1\tone\n");
  for (int i = 0; i < runs::kept_runs; ++i) {
    f.clock.advance(1s);
    f.ends(f.run_command(f.id));
  }
  f.clock.advance(1s);
  const Run open = f.run_command(f.id);
  CHECK_FALSE(f.read([&](db::Tx& tx) { return runs::find(tx, first.id); }));
  CHECK_FALSE(f.read([&](db::Tx& tx) { return runs::log_of(tx, first.id); }));
  const auto kept = [&] {
    return f.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM deployment_runs"); });
  };
  CHECK(kept() == runs::kept_runs + 1);
  f.clock.advance(runs::kept_for);
  CHECK(f.read(runs::is_any_old));
  CHECK(f.write([](db::Tx& tx) { return runs::remove_old(tx, 10); }) == 10);
  f.write([](db::Tx& tx) { return runs::remove_old(tx, 1'000); });
  CHECK_FALSE(f.read(runs::is_any_old));
  CHECK(kept() == 1);
  CHECK(f.find_run(open.id).status == Status::pending);
}

TEST_CASE("of a long log, the last lines are kept") {
  Fixture f;
  const Run run = f.run_command(f.id);
  std::string text;
  while (text.size() <= runs::max_log_bytes) text += "id\t" + std::string(1'000, 'x') + "\n";
  f.write([&](db::Tx& tx) { runs::store_log(tx, run.id, {.lines = text + "end\tend\n"}); });
  const auto log = *f.read([&](db::Tx& tx) { return runs::log_of(tx, run.id); });
  CHECK(log.is_cut);
  CHECK(log.lines.size() <= runs::max_log_bytes);
  CHECK(log.lines.starts_with("id\t"));
  CHECK(log.lines.ends_with("end\tend\n"));
}

TEST_CASE("a run whose points for an hour are missing isn't made") {
  RunsWorld w;
  tiers::Tier tier = paid_tier("hourly", 0);
  tier.points_per_hour = 100;
  w.new_tier(tier);
  w.give(100);
  const std::string id = w.running_with({}, "shop", "hourly");
  w.write([&](db::Tx& tx) {
    // Somebody has spent what the hold of the deployment needs.
    tx.execute("UPDATE ledger_accounts SET balance = 50, held = 0 WHERE id = $1",
               "app:" + w.app.id);
  });
  CHECK(w.refused_run(id) == "422 insufficient_balance");
  CHECK(w.all_runs(id).empty());
}
