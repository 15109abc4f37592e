// The database comes from a backup: the cluster is made to match its rows, and nothing is lost.
#include <catch2/catch.hpp>

#include "tests/reconcilers/cluster.h"
#include "tests/reconcilers/world.h"

using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using berth::deployments::Status;
namespace kube = berth::kube;

TEST_CASE("after a restore the cluster matches the restored rows, and newer objects stay") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string app = world.new_app();
  const std::string kept = world.deploy(app, {.name = "kept"});
  const std::string stopped = world.deploy(app, {.name = "stopped"});
  const std::string deleted = world.deploy(app, {.name = "deleted"});
  for (const std::string& id : {kept, stopped, deleted}) REQUIRE(world.is(id, Status::running));
  world.stop(stopped);
  REQUIRE(world.is(stopped, Status::stopped));
  REQUIRE(world.settles());
  world.back_up();

  world.restart(stopped);
  world.destroy(deleted);
  const std::string younger = world.deploy(app, {.name = "younger"});
  const std::string elsewhere = world.deploy(world.new_app(), {.name = "elsewhere"});
  for (const std::string& id : {stopped, younger, elsewhere})
    REQUIRE(world.is(id, Status::running));
  REQUIRE(world.is_removed(deleted));
  world.sleep();
  world.restore();
  world.wake();

  CHECK(eventually([&] { return world.engine().orphans() == std::set{younger, elsewhere}; }));
  // What was deleted since the backup is created again, and what was started since then is stopped.
  CHECK(eventually([&] { return world.objects(kube::deployments, deleted).size() == 1; }));
  CHECK(world.is(deleted, Status::running));
  CHECK(eventually([&] { return world.objects(kube::pods, stopped).empty(); }));
  CHECK(world.is(kept, Status::running));
  REQUIRE(world.settles());
  CHECK(world.row(stopped).status == Status::stopped);
  for (const std::string& orphan : {younger, elsewhere}) {
    CHECK(world.objects(kube::pods, orphan).size() == 1);
    CHECK(world.objects(kube::services, orphan).size() == 1);
    CHECK(world.objects(kube::ingresses, orphan).size() == 1);
  }
  // Nothing is written after that.
  const int writes = world.writes();
  world.sleep();
  world.wake();
  REQUIRE(world.settles());
  CHECK(world.writes() == writes);
}
