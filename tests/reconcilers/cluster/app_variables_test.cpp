// A change of an app's variables reaches the containers that inherit them, and no others.
#include "controller/domain/deployments/app_variables.h"

#include <catch2/catch.hpp>
#include <set>

#include "reconcilers/cluster/differ.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Status;

namespace {

// The same key as in tests/reconcilers/cluster/world.cpp.
const std::string data_key(32, 'k');

void set(World& world, const std::string& app,
         const std::map<std::string, std::optional<std::string>>& changes) {
  world.database().write([&](db::Tx& tx) {
    deployments::change_app_variables(tx, {app, app, "request-7"}, changes, data_key);
  });
}

std::set<std::string> pods_of(World& world, const std::string& id) {
  std::set<std::string> uids;
  for (const Object& pod : world.objects(kube::pods, id))
    if (!is_being_deleted(pod)) uids.insert(uid_of(pod));
  return uids;
}

std::string variable(World& world, const std::string& id, const std::string& name) {
  return world.object(kube::secrets, id)["data"].value(name, "");
}

}  // namespace

TEST_CASE("a changed variable of an app replaces the containers that inherit it, and no others") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string app = world.new_app();
  const std::string inherits = world.deploy(app, {.name = "inherits", .env = {{"OWN", "1"}}});
  const std::string overrides = world.deploy(app, {.name = "overrides", .env = {{"LEVEL", "own"}}});
  const std::string bare = world.deploy(app, {.name = "bare", .env = {}});
  const std::string stopped = world.deploy(app, {.name = "stopped", .env = {}});
  const std::string foreign = world.deploy(world.new_app(), {.name = "foreign"});
  for (const std::string& id : {inherits, overrides, bare, stopped, foreign})
    REQUIRE(world.is(id, Status::running));
  world.stop(stopped);
  REQUIRE(eventually([&] { return world.objects(kube::pods, stopped).empty(); }));
  REQUIRE(world.settles());
  const auto first = pods_of(world, inherits);
  const auto of_bare = pods_of(world, bare);
  const auto kept = pods_of(world, overrides);
  const auto of_foreign = pods_of(world, foreign);

  set(world, app, {{"LEVEL", "info"}});
  REQUIRE(eventually([&] {
    return world.row(inherits).status == Status::running && pods_of(world, inherits) != first &&
           pods_of(world, inherits).size() == 1;
  }));
  REQUIRE(eventually([&] {
    return world.row(bare).status == Status::running && pods_of(world, bare) != of_bare &&
           pods_of(world, bare).size() == 1;
  }));
  REQUIRE(world.settles());
  CHECK(variable(world, inherits, "LEVEL") == "aW5mbw==");
  CHECK(variable(world, inherits, "OWN") == "MQ==");
  CHECK(variable(world, bare, "LEVEL") == "aW5mbw==");
  CHECK(variable(world, overrides, "LEVEL") == "b3du");
  CHECK(pods_of(world, overrides) == kept);
  CHECK(pods_of(world, foreign) == of_foreign);
  CHECK(world.row(stopped).status == Status::stopped);
  CHECK(pods_of(world, stopped).empty());
  CHECK(variable(world, stopped, "LEVEL") == "aW5mbw==");

  // The same value again, and an own variable with that value, replace nothing.
  const auto second = pods_of(world, inherits);
  set(world, app, {{"LEVEL", "info"}});
  deployments::Change own;
  own.env = {{"LEVEL", "info"}};
  world.database().write([&](db::Tx& tx) {
    deployments::change(tx, {app, app, "request-8"}, inherits, own, world.rules, data_key);
  });
  REQUIRE(eventually([&] { return world.row(inherits).status == Status::running; }));
  REQUIRE(world.settles());
  CHECK(pods_of(world, inherits) == second);

  world.restart(stopped);
  REQUIRE(world.is(stopped, Status::running));
  // Without any variable the Secret is emptied. It stays, because the container that serves until
  // the new one is ready still names it.
  set(world, app, {{"LEVEL", std::nullopt}});
  CHECK(eventually([&] {
    const Object secret = world.object(kube::secrets, bare);
    return !secret.is_null() && !secret.contains("data");
  }));
  CHECK(eventually([&] {
    const Object pod = world.object(kube::deployments, bare)["spec"]["template"]["spec"];
    return world.row(bare).status == Status::running && !pod["containers"][0].contains("envFrom");
  }));
  CHECK(variable(world, inherits, "LEVEL") == "aW5mbw==");
}
