// Stopping, restarting and deleting deployments, and what is listed of them.
#include <catch2/catch.hpp>

#include "controller/domain/deployments/deployments.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::Status;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.approved_app(ada, {Scope::deploy_manage});
  deployments::Deployment row = world.deploy(app, order());

  deployments::Deployment now() { return world.find_deployment(row.id); }
  // Records what the reconcilers would have seen.
  void seen(Status status) {
    deployments::Observation observation;
    observation.status = status;
    if (status == Status::errored) observation.reason = deployments::Reason::crash_loop;
    REQUIRE(world.record(row.id, now().generation, observation));
  }
};

TEST_CASE("stop works in any live state, and raises the generation") {
  for (const Status status :
       {Status::pending, Status::deploying, Status::running, Status::errored}) {
    INFO(to_string(status));
    Fixture f;
    if (status != Status::pending) f.seen(status);
    f.world.clock.advance(1s);
    const auto stopped = f.world.stop(f.app, f.row.id);
    CHECK(stopped.status == Status::stopped);
    CHECK(stopped.generation == 2);
    CHECK(stopped.stopped_at == f.world.clock.now());
    CHECK_FALSE(stopped.reason);
    CHECK_FALSE(stopped.message);
    CHECK(f.world.history(f.row.id).ends_with("stop succeeded"));
  }
}

TEST_CASE("stopping a stopped one changes nothing") {
  Fixture f;
  const auto first = f.world.stop(f.app, f.row.id);
  f.world.clock.advance(1s);
  const auto second = f.world.stop(f.app, f.row.id);
  CHECK(second.generation == first.generation);
  CHECK(second.stopped_at == first.stopped_at);
  CHECK(second.updated_at == first.updated_at);
  CHECK(f.world.history(f.row.id) == "create succeeded, stop succeeded");
}

TEST_CASE("restart works in any live state, and replaces the container") {
  for (const Status status :
       {Status::pending, Status::deploying, Status::running, Status::errored, Status::stopped}) {
    INFO(to_string(status));
    Fixture f;
    if (status == Status::stopped)
      f.world.stop(f.app, f.row.id);
    else if (status != Status::pending)
      f.seen(status);
    const auto before = f.now();
    const auto restarted = f.world.restart(f.app, f.row.id);
    CHECK(restarted.status == Status::deploying);
    CHECK(restarted.generation == before.generation + 1);
    CHECK(restarted.rollout == before.rollout + 1);
    CHECK_FALSE(restarted.stopped_at);
    CHECK_FALSE(restarted.reason);
    CHECK(f.world.history(f.row.id).ends_with("restart started"));
    f.seen(Status::running);
    CHECK(f.world.history(f.row.id).ends_with("restart started, deploy succeeded"));
  }
}

TEST_CASE("destroy works from any state, and repeating it changes nothing") {
  for (const Status status :
       {Status::pending, Status::deploying, Status::running, Status::errored, Status::stopped}) {
    INFO(to_string(status));
    Fixture f;
    if (status == Status::stopped)
      f.world.stop(f.app, f.row.id);
    else if (status != Status::pending)
      f.seen(status);
    const auto gone = f.world.destroy(f.app, f.row.id);
    CHECK(gone.status == Status::destroyed);
    CHECK(gone.destroyed_at == f.world.clock.now());
    CHECK_FALSE(gone.removed_at);
    f.world.clock.advance(1s);
    const auto again = f.world.destroy(f.app, f.row.id);
    CHECK(again.generation == gone.generation);
    CHECK(again.destroyed_at == gone.destroyed_at);
    const std::string history = f.world.history(f.row.id);
    CHECK(history.ends_with("destroy succeeded"));
    CHECK(history.find("destroy") == history.rfind("destroy"));
  }
}

TEST_CASE("a destroyed one can be neither stopped nor restarted") {
  Fixture f;
  f.world.destroy(f.app, f.row.id);
  CHECK(refusal([&] { f.world.stop(f.app, f.row.id); }) == "422 deployment_destroyed");
  CHECK(refusal([&] { f.world.restart(f.app, f.row.id); }) == "422 deployment_destroyed");
  CHECK(f.now().status == Status::destroyed);
}

TEST_CASE("the owner can't restart what an admin suspended") {
  Fixture f;
  f.world.stop(f.app, f.row.id);
  f.world.write(
      [&](db::Tx& tx) { tx.execute("UPDATE deployments SET suspended_at = $1", tx.now()); });
  CHECK(refusal([&] { f.world.restart(f.app, f.row.id); }) == "403 deployment_suspended");
  CHECK(refusal([&] { f.world.stop(f.app, f.row.id); }) == "");
  CHECK(refusal([&] { f.world.destroy(f.app, f.row.id); }) == "");
}

TEST_CASE("other operators can do nothing with a deployment, and learn little about it") {
  Fixture f;
  const auto bobs = f.world.approved_app(f.world.verified_user("bob"), {Scope::deploy_manage});
  // The owner's other app counts as another operator here, because tokens belong to apps.
  const auto second = f.world.approved_app(f.ada, {Scope::deploy_manage});
  for (const auto& other : {bobs, second}) {
    CHECK(refusal([&] { f.world.stop(other, f.row.id); }) == "403 forbidden");
    CHECK(refusal([&] { f.world.restart(other, f.row.id); }) == "403 forbidden");
    CHECK(refusal([&] { f.world.destroy(other, f.row.id); }) == "403 forbidden");
    CHECK(refusal([&] { f.world.stop(other, "unknown"); }) == "404 deployment_not_found");
  }
  CHECK(f.now().generation == 1);
}

TEST_CASE("each change notifies the reconcilers, and a call without a change doesn't") {
  Fixture f;
  int told = 0;
  f.world.db.subscribe([&](db::Topic, const std::string& id) {
    if (id == f.row.id) ++told;
  });
  f.world.stop(f.app, f.row.id);
  f.world.stop(f.app, f.row.id);
  CHECK(told == 1);
  f.world.restart(f.app, f.row.id);
  f.world.restart(f.app, f.row.id);
  CHECK(told == 3);
  f.world.destroy(f.app, f.row.id);
  f.world.destroy(f.app, f.row.id);
  CHECK(told == 4);
  CHECK(refusal([&] { f.world.restart(f.app, f.row.id); }) != "");
  CHECK(told == 4);
}

TEST_CASE("lists contain what isn't destroyed, newest first, in pages") {
  Fixture f;
  std::vector<std::string> names = {"shop"};
  for (const char* name : {"a", "b", "c"}) {
    f.world.clock.advance(1s);
    f.world.deploy(f.app, order(name));
    names.insert(names.begin(), name);
  }
  f.world.deploy(f.world.approved_app(f.ada, {Scope::deploy_manage}), order("others"));
  const auto list = [&](int page, int size) {
    const auto got = f.world.read([&](db::Tx& tx) {
      return deployments::list(tx, f.app.id, {.page = page, .page_size = size});
    });
    std::vector<std::string> found = {std::to_string(got.total)};
    for (const auto& row : got.items) found.push_back(row.name);
    return found;
  };
  CHECK(list(1, 20) == std::vector<std::string>{"4", "c", "b", "a", "shop"});
  CHECK(list(2, 3) == std::vector<std::string>{"4", "shop"});
  CHECK(list(3, 3) == std::vector<std::string>{"4"});
  f.world.destroy(f.app, f.row.id);
  CHECK(list(1, 20) == std::vector<std::string>{"3", "c", "b", "a"});
  // It can still be read by its id.
  CHECK(f.world.read([&](db::Tx& tx) {
    return deployments::get_owned(tx, f.app.id, f.row.id).status;
  }) == Status::destroyed);
}

TEST_CASE("only the newest log entries of a deployment are kept") {
  Fixture f;
  const deployments::Deployment other = f.world.deploy(f.app, order("other"));
  const auto entries = [&](const std::string& id) {
    return f.world.read([&](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM deploy_logs WHERE deployment_id = $1", id);
    });
  };
  constexpr int kept = 10'000, before = kept + 4;
  f.world.write([&](db::Tx& tx) {
    tx.execute(R"(
        WITH RECURSIVE numbers (n) AS
          (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
        INSERT INTO deploy_logs (id, deployment_id, number, action, status, inserted_at)
        SELECT 'log' || n, $2, n, 'restart', 'succeeded', 0 FROM numbers)",
               before, f.row.id);
  });
  CHECK(entries(f.row.id) == before);
  for (int i = 0; i < 2; ++i) {
    f.world.write([&](db::Tx& tx) { deployments::restart(tx, f.world.actor(f.app), f.row.id); });
    CHECK(entries(f.row.id) == kept);
  }
  f.world.write([&](db::Tx& tx) { deployments::stop(tx, f.world.actor(f.app), f.row.id); });
  CHECK(entries(f.row.id) == kept);
  CHECK(entries(other.id) == 1);
  CHECK(f.world.logs(f.row.id).back().action == deployments::LogAction::stop);
}

TEST_CASE("one process is restarted, and the others' number stays") {
  World world;
  const accounts::User ada = world.verified_user("ada");
  const apps::App app = world.approved_app(ada, {Scope::deploy_manage});
  auto wanted = order();
  wanted.container.processes = {{"web", {}}, {"worker", {}}};
  const auto row = world.deploy(app, wanted);
  deployments::Observation seen;
  seen.status = Status::running;
  REQUIRE(world.record(row.id, row.generation, seen));
  const auto restart = [&](const std::string& process) {
    return world.write([&](db::Tx& tx) {
      return deployments::restart_process(tx, world.actor(app), row.id, process);
    });
  };
  const auto restarted = restart("worker");
  CHECK(restarted.status == Status::deploying);
  CHECK(restarted.generation == row.generation + 1);
  CHECK(restarted.rollout == row.rollout);
  CHECK(restarted.process_rollouts == std::map<std::string, std::int64_t>{{"worker", 1}});
  CHECK(restart("worker").process_rollouts.at("worker") == 2);
  CHECK(restart("web").process_rollouts ==
        std::map<std::string, std::int64_t>{{"web", 1}, {"worker", 2}});
  const auto last = nlohmann::json::parse(*world.logs(row.id).back().details);
  CHECK(last["process"] == "web");
  const auto code_of = [&](const std::string& process) {
    try {
      restart(process);
    } catch (const Error& error) {
      return std::string(name(error.code));
    }
    return std::string();
  };
  CHECK(code_of("mailer") == "validation_failed");
  CHECK(world.find_deployment(row.id).generation == row.generation + 3);
  // A process that is gone isn't counted any more.
  deployments::Change change;
  change.set(&deployments::ContainerSpec::processes, {{"web", {}}, {"mailer", {}}});
  world.write([&](db::Tx& tx) {
    deployments::change(tx, world.actor(app), row.id, change, world.rules, world.keys.data);
  });
  CHECK(restart("mailer").process_rollouts ==
        std::map<std::string, std::int64_t>{{"mailer", 1}, {"web", 1}});
  // Neither is it when one is replaced for its size.
  change = {};
  change.set(&deployments::ContainerSpec::processes, {{"web", {}}, {"sender", {}}});
  const auto renamed = world.write([&](db::Tx& tx) {
    return deployments::change(tx, world.actor(app), row.id, change, world.rules, world.keys.data);
  });
  world.write([&](db::Tx& tx) {
    return deployments::record_resize(tx, row.id, renamed.generation, deployments::Resize::rollout,
                                      {"sender"});
  });
  CHECK(world.find_deployment(row.id).process_rollouts ==
        std::map<std::string, std::int64_t>{{"sender", 1}, {"web", 1}});
  world.stop(app, row.id);
  CHECK(code_of("web") == "invalid_state");
}

TEST_CASE("how a change of size came to the containers is known until the next change") {
  using deployments::Resize;
  Fixture f;
  f.seen(Status::running);
  const auto stored = [&](std::int64_t generation, Resize how) {
    const std::vector<std::string> replaced =
        how == Resize::rollout ? std::vector<std::string>{"web"} : std::vector<std::string>();
    return f.world.write([&](db::Tx& tx) {
      return deployments::record_resize(tx, f.row.id, generation, how, replaced);
    });
  };
  const auto replaced = [&] { return f.now().process_rollouts; };
  const std::map<std::string, std::int64_t> once = {{"web", 1}};
  const auto before = f.now();
  CHECK_FALSE(stored(before.generation + 1, Resize::in_place));
  CHECK(stored(before.generation, Resize::in_place));
  CHECK_FALSE(stored(before.generation, Resize::in_place));
  CHECK(f.now().resized == Resize::in_place);
  CHECK(replaced().empty());
  CHECK(stored(before.generation, Resize::rollout));
  CHECK(f.now().resized == Resize::rollout);
  CHECK(replaced() == once);
  CHECK_FALSE(stored(before.generation, Resize::rollout));
  CHECK_FALSE(stored(before.generation, Resize::in_place));
  CHECK(replaced() == once);
  CHECK(f.now().rollout == before.rollout);
  f.world.restart(f.app, f.row.id);
  CHECK_FALSE(f.now().resized);
  f.world.stop(f.app, f.row.id);
  CHECK_FALSE(stored(f.now().generation, Resize::rollout));
}

TEST_CASE("logs are chronological, in pages or the newest thousand") {
  Fixture f;
  f.world.write([&](db::Tx& tx) {
    for (int i = 0; i < 600; ++i) {
      deployments::restart(tx, f.world.actor(f.app), f.row.id);
      deployments::stop(tx, f.world.actor(f.app), f.row.id);
    }
  });
  const auto newest = f.world.logs(f.row.id);
  CHECK(newest.size() == 1'000);
  CHECK(newest.back().action == deployments::LogAction::stop);
  CHECK(newest.front().action == deployments::LogAction::restart);
  const auto page = f.world.read(
      [&](db::Tx& tx) { return deployments::logs(tx, f.row.id, {.page = 1, .page_size = 3}); });
  CHECK(page.total == 1'201);
  REQUIRE(page.items.size() == 3);
  CHECK(page.items[0].action == deployments::LogAction::create);
  CHECK(page.items[1].action == deployments::LogAction::restart);
  CHECK(page.items[2].action == deployments::LogAction::stop);
}

}  // namespace
