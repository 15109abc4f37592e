#include "reconcilers/cluster/container_logs.h"

#include <catch2/catch.hpp>
#include <vector>

#include "reconcilers/cluster/instances.h"
#include "tests/domain/world.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;

TEST_CASE("two operators don't take all readers of logs", "[pool:log_readers]") {
  embedded::Cluster cluster{quick()};
  World world(config_of(cluster));
  world.wake();
  const std::string id = world.deploy(world.new_app());
  REQUIRE(world.is(id, deployments::Status::running));
  ContainerLogs logs(world.engine().client(), world.engine().cache());
  std::vector<container_logs::Reader> open;
  const auto opens = [&](const std::string& account, const std::string& address,
                         Standing standing = Standing::ordinary) {
    const ClaimantOfThread claimant({.account = account, .address = address, .standing = standing});
    return berth::test::refusal([&] { open.push_back(logs.open({.deployment_id = id})); });
  };
  // Two operators who work at the same network, or at two.
  std::size_t of_crowd = 0;
  while (opens(of_crowd % 2 == 0 ? "mallory" : "eve", "192.0.2." + std::to_string(of_crowd % 2 + 1))
             .empty())
    ++of_crowd;
  CHECK(of_crowd == 48);
  CHECK(opens("mallory", "198.51.100.1") == "503 unavailable");
  CHECK(opens("trent", "192.0.2.1") == "503 unavailable");
  CHECK(opens("ada", "203.0.113.1").empty());
  CHECK(opens("root", "192.0.2.1", Standing::essential).empty());
  open.clear();
  CHECK(opens("mallory", "192.0.2.1").empty());
}

TEST_CASE("the log of one container is read by its name, and the containers say what each runs") {
  embedded::Cluster cluster{quick()};
  World world(config_of(cluster));
  world.wake();
  const std::string id = world.deploy(world.new_app());
  REQUIRE(world.is(id, deployments::Status::running));
  const auto all = instances_of(world.engine().cache(), id);
  REQUIRE(all.size() == 1);
  CHECK(all[0].is_newest);
  CHECK(all[0].is_ready);
  CHECK(all[0].state == instances::State::running);
  CHECK(all[0].image == world.row(id).container.image);
  ContainerLogs logs(world.engine().client(), world.engine().cache());
  const ClaimantOfThread claimant({.account = "ada", .address = "192.0.2.1"});
  CHECK(berth::test::refusal([&] {
          logs.open({.deployment_id = id, .instance = all[0].name})(std::chrono::seconds(5));
        }).empty());
  CHECK(berth::test::refusal([&] { logs.open({.deployment_id = id, .instance = "another"}); }) ==
        "409 invalid_state");
}
