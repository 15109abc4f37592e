// What the reconcilers read and record.
#include <catch2/catch.hpp>

#include "controller/base/text.h"
#include "controller/domain/deployments/deployments.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::Observation;
using deployments::Reason;
using deployments::Status;

Observation seen(Status status, std::optional<Reason> reason = {}) {
  Observation observation;
  observation.status = status;
  observation.reason = reason;
  return observation;
}

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.approved_app(ada, {Scope::deploy_manage});
  deployments::Deployment row = world.deploy(app, order());

  deployments::Deployment now() { return world.find_deployment(row.id); }
  bool record(const Observation& observation) {
    return world.record(row.id, now().generation, observation);
  }
  std::string history() { return world.history(row.id); }
  bool host_is_held(const std::string& id) {
    return world.read([&](db::Tx& tx) {
      return deployments::desired_state(tx, id, world.keys.data)->host_is_held;
    });
  }
};

TEST_CASE("everything that was observed is stored") {
  Fixture f;
  const Observation all = {.status = Status::running,
                           .phase = "serving",
                           .reason = Reason::rollout_failed,
                           .cause = Reason::image_pull_failed,
                           .message = "no such image",
                           .container_id = "containerd://1",
                           .image_digest = "sha256:1",
                           .host_server = "node-1",
                           .health_status = deployments::HealthStatus::healthy};
  CHECK(deployments::differs(f.now(), all));
  f.world.clock.advance(1s);
  CHECK(f.record(all));
  const auto row = f.now();
  CHECK_FALSE(deployments::differs(row, all));
  CHECK(row.status == Status::running);
  CHECK(row.phase == "serving");
  CHECK(row.reason == Reason::rollout_failed);
  CHECK(row.cause == Reason::image_pull_failed);
  CHECK(row.message == "no such image");
  CHECK(row.container_id == "containerd://1");
  CHECK(row.image_digest == "sha256:1");
  CHECK(row.host_server == "node-1");
  CHECK(row.health_status == deployments::HealthStatus::healthy);
  CHECK(row.last_health_check == f.world.clock.now());
  CHECK(row.deployed_at == f.world.clock.now());
  CHECK(row.updated_at == f.world.clock.now());
  CHECK(row.generation == 1);
}

TEST_CASE("differs compares each thing that can be observed") {
  Fixture f;
  const Observation base = seen(Status::running);
  REQUIRE(f.record(base));
  const auto row = f.now();
  CHECK_FALSE(deployments::differs(row, base));
  const auto differs = [&](auto&& change) {
    Observation other = base;
    change(other);
    return deployments::differs(row, other);
  };
  CHECK(differs([](auto& o) { o.status = Status::errored; }));
  CHECK(differs([](auto& o) { o.phase = "probing"; }));
  CHECK(differs([](auto& o) { o.reason = Reason::crash_loop; }));
  CHECK(differs([](auto& o) { o.cause = Reason::crash_loop; }));
  CHECK(differs([](auto& o) { o.message = ""; }));
  CHECK(differs([](auto& o) { o.container_id = "x"; }));
  CHECK(differs([](auto& o) { o.image_digest = "x"; }));
  CHECK(differs([](auto& o) { o.host_server = "x"; }));
  CHECK(differs([](auto& o) { o.health_status = deployments::HealthStatus::unknown; }));
}

TEST_CASE("observations of an old generation are ignored") {
  Fixture f;
  f.world.stop(f.app, f.row.id);
  CHECK_FALSE(f.world.record(f.row.id, 1, seen(Status::running)));
  CHECK(f.now().status == Status::stopped);
  CHECK(f.history() == "create succeeded, stop succeeded");
  CHECK_FALSE(f.world.record(f.row.id, 3, seen(Status::running)));
  CHECK(f.world.record(f.row.id, 2, seen(Status::stopped)));
}

TEST_CASE("observations of a destroyed or unknown deployment are ignored") {
  Fixture f;
  f.world.destroy(f.app, f.row.id);
  CHECK_FALSE(f.record(seen(Status::running)));
  CHECK(f.now().status == Status::destroyed);
  CHECK_FALSE(f.world.record("unknown", 1, seen(Status::running)));
}

TEST_CASE("recording an observation doesn't wake the reconcilers") {
  Fixture f;
  int told = 0;
  f.world.db.subscribe(
      [&](db::Topic topic, const std::string&) { told += topic == db::Topic::deployment; });
  CHECK(f.record(seen(Status::running)));
  CHECK(told == 0);
}

TEST_CASE("a rollout writes started and succeeded, each once") {
  Fixture f;
  f.record(seen(Status::deploying));
  Observation pulling = seen(Status::deploying);
  pulling.phase = "pulling";
  f.record(pulling);
  f.record(seen(Status::running));
  Observation healthy = seen(Status::running);
  healthy.health_status = deployments::HealthStatus::healthy;
  f.record(healthy);
  CHECK(f.history() == "create succeeded, deploy started, deploy succeeded");
  CHECK(f.world.logs(f.row.id).back().initiated_by == f.ada.id);
}

TEST_CASE("a failure is logged once for each reason, and so is its end") {
  Fixture f;
  f.record(seen(Status::errored, Reason::image_pull_failed));
  Observation again = seen(Status::errored, Reason::image_pull_failed);
  again.message = "back-off";
  f.record(again);
  CHECK(f.history() == "create succeeded, deploy failed");
  f.record(seen(Status::errored, Reason::crash_loop));
  CHECK(f.history() == "create succeeded, deploy failed, deploy failed");
  CHECK(f.world.logs(f.row.id).back().details->find("crash_loop") != std::string::npos);
  f.record(seen(Status::running));
  CHECK(f.history() == "create succeeded, deploy failed, deploy failed, deploy succeeded");
}

TEST_CASE(
    "a rollout that failed while the old container serves is a failure of a running deployment") {
  Fixture f;
  f.record(seen(Status::running));
  Observation failed = seen(Status::running, Reason::rollout_failed);
  failed.cause = Reason::image_pull_failed;
  f.record(failed);
  CHECK(f.now().status == Status::running);
  CHECK(f.history() == "create succeeded, deploy succeeded, deploy failed");
  f.record(seen(Status::running));
  CHECK(f.history() == "create succeeded, deploy succeeded, deploy failed, deploy succeeded");
}

TEST_CASE("deployed_at is when it last came to run, not when it was last observed") {
  Fixture f;
  f.record(seen(Status::running));
  const Instant first = f.world.clock.now();
  f.world.clock.advance(1h);
  Observation healthy = seen(Status::running);
  healthy.health_status = deployments::HealthStatus::healthy;
  f.record(healthy);
  CHECK(f.now().deployed_at == first);
  f.record(seen(Status::errored, Reason::crash_loop));
  f.world.clock.advance(1h);
  f.record(seen(Status::running));
  CHECK(f.now().deployed_at == f.world.clock.now());
}

TEST_CASE("a long message is cut between characters, and stays equal to its cut form") {
  Fixture f;
  Observation long_one = seen(Status::errored, Reason::crash_loop);
  long_one.message = std::string(deployments::max_message_length - 1, 'x') + "🌱🌱";
  f.record(long_one);
  CHECK(f.now().message == std::string(deployments::max_message_length - 1, 'x'));
  CHECK_FALSE(deployments::differs(f.now(), long_one));
}

TEST_CASE("a change of what is wanted clears what was observed before") {
  Fixture f;
  Observation bad = seen(Status::errored, Reason::rollout_failed);
  bad.cause = Reason::crash_loop;
  bad.message = "Error";
  bad.phase = "starting";
  bad.health_status = deployments::HealthStatus::unhealthy;
  f.record(bad);
  const auto row = f.world.restart(f.app, f.row.id);
  CHECK_FALSE(row.reason);
  CHECK_FALSE(row.cause);
  CHECK_FALSE(row.message);
  CHECK_FALSE(row.health_status);
  CHECK(row.phase == "");
}

TEST_CASE("a host name is held until its destroyed deployment is off the cluster") {
  Fixture f;
  CHECK_FALSE(f.host_is_held(f.row.id));
  f.world.destroy(f.app, f.row.id);
  const auto next = f.world.deploy(f.app, order());
  const auto other = f.world.deploy(f.app, order("other"));
  CHECK(f.host_is_held(next.id));
  CHECK_FALSE(f.host_is_held(other.id));
  f.world.write([&](db::Tx& tx) { deployments::mark_removed(tx, f.row.id); });
  CHECK_FALSE(f.host_is_held(next.id));
}

TEST_CASE("only a destroyed deployment is marked as removed, and once") {
  Fixture f;
  const auto mark = [&] {
    f.world.write([&](db::Tx& tx) { deployments::mark_removed(tx, f.row.id); });
  };
  mark();
  CHECK_FALSE(f.now().removed_at);
  f.world.destroy(f.app, f.row.id);
  mark();
  const auto when = f.now().removed_at;
  CHECK(when == f.world.clock.now());
  f.world.clock.advance(1s);
  mark();
  CHECK(f.now().removed_at == when);
}

TEST_CASE("all deployments that may have objects are listed") {
  Fixture f;
  const auto ids = [&] { return f.world.read(deployments::all_with_objects); };
  const auto app_has = [&] {
    return f.world.read([&](db::Tx& tx) { return deployments::app_has_objects(tx, f.app.id); });
  };
  CHECK(ids() == std::vector<std::string>{f.row.id});
  f.world.stop(f.app, f.row.id);
  CHECK(app_has());
  f.world.destroy(f.app, f.row.id);
  CHECK(ids() == std::vector<std::string>{f.row.id});
  CHECK(app_has());
  f.world.write([&](db::Tx& tx) { deployments::mark_removed(tx, f.row.id); });
  CHECK(ids().empty());
  CHECK_FALSE(app_has());
}

TEST_CASE("an app's size is that of all that aren't destroyed") {
  Fixture f;
  const auto size = [&] {
    return f.world.read([&](db::Tx& tx) { return deployments::size_of_app(tx, f.app.id); });
  };
  const auto large = f.world.deploy(f.app, order("large", "free"));
  CHECK(size() == deployments::AppSize{.deployments = 2,
                                       .containers = 2,
                                       .memory_mb = 640,
                                       .cpu_millicores = 600,
                                       .largest_memory_mb = 512,
                                       .largest_cpu_millicores = 500});
  f.world.stop(f.app, f.row.id);
  CHECK(size().deployments == 2);
  f.world.destroy(f.app, large.id);
  CHECK(size() == deployments::AppSize{.deployments = 1,
                                       .containers = 1,
                                       .memory_mb = 128,
                                       .cpu_millicores = 100,
                                       .largest_memory_mb = 128,
                                       .largest_cpu_millicores = 100});
  f.world.destroy(f.app, f.row.id);
  CHECK(size() == deployments::AppSize{});
}

TEST_CASE("an app is changing while one of its deployments is on the way or can't go on") {
  Fixture f;
  const auto is_changing = [&] {
    return f.world.read([&](db::Tx& tx) { return deployments::app_is_changing(tx, f.app.id); });
  };
  CHECK(is_changing());
  CHECK(f.record(seen(Status::running)));
  CHECK_FALSE(is_changing());
  CHECK(f.record(seen(Status::running, Reason::rollout_failed)));
  CHECK(is_changing());
  CHECK(f.record(seen(Status::errored, Reason::crash_loop)));
  CHECK(is_changing());
  f.world.destroy(f.app, f.row.id);
  CHECK_FALSE(is_changing());
}

TEST_CASE("deployments are counted by status") {
  Fixture f;
  f.world.deploy(f.app, order("two"));
  f.world.destroy(f.app, f.world.deploy(f.app, order("three")).id);
  f.record(seen(Status::running));
  CHECK(f.world.read(deployments::count_by_status) ==
        std::map<Status, int>{{Status::pending, 1}, {Status::running, 1}});
}

}  // namespace
