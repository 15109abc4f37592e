// The loop that follows images' tags, against a registry on a loopback port.
#include "reconcilers/loops/pushes.h"

#include <catch2/catch.hpp>

#include "controller/domain/deployments/previews.h"
#include "reconcilers/registry/image_size.h"
#include "tests/domain/deployments/custom_domains/custom_domains_world.h"
#include "tests/registry/server.h"

namespace {

using namespace berth;
using namespace berth::test;
using deployments::Deployment;
using deployments::Status;
using reconcilers::PushLoop;
using registry::test::layer;
using registry::test::manifest;

pushes::Answer asked(const pushes::Question& question, const std::stop_token& stop) {
  try {
    return {.digest = registry::tag_digest(registry::parse_image_name(question.image), {}, stop),
            .error = {}};
  } catch (const registry::Unanswered& failure) {
    return {.digest = {}, .error = failure.what()};
  }
}

struct Fixture : DomainWorld {
  registry::test::Server server;
  prometheus::Registry metrics;
  deployments::Rules rules_here = [this] {
    deployments::Rules all = rules;
    all.registries = {server.host()};
    return all;
  }();
  PushLoop loop{{.data_key = keys.data, .rules = rules_here, .ask = asked}, metrics};
  Round round{db};

  Fixture() { server.push("acme/web", "main", manifest({layer("a", 30)})); }

  Deployment deploy_from(const std::string& name) {
    deployments::Order wanted = order(name);
    wanted.container.image = server.host() + "/acme/web:main";
    wanted.container.auto_deploy = true;
    const auto row = db.write_with_row_locks([&](db::Tx& tx) {
      return deployments::create(tx, actor(adas), wanted, rules_here, keys.data);
    });
    deployments::Observation seen;
    seen.status = Status::running;
    record(row.id, row.generation, seen);
    return row;
  }
  void look() {
    clock.advance(pushes::asked_every);
    round.run([&](Round& running) { loop.run_once(running); });
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "what is pushed to a registry is rolled out by the loop",
                 "[pushes_loop_test]") {
  const auto one = deploy_from("one");
  const auto two = deploy_from("two");
  look();
  look();
  CHECK(find_deployment(one.id).generation == one.generation);
  server.push("acme/web", "main", manifest({layer("b", 30)}));
  look();
  for (const auto& row : {one, two}) {
    CHECK(find_deployment(row.id).generation == row.generation + 1);
    CHECK(find_deployment(row.id).status == Status::deploying);
  }
  look();
  CHECK(find_deployment(one.id).generation == one.generation + 1);
}

TEST_CASE_METHOD(Fixture, "a registry that refuses changes nothing, and is told to the owner",
                 "[pushes_loop_test]") {
  const auto row = deploy_from("one");
  look();
  server.guard([](const httplib::Request&, httplib::Response& response) {
    response.status = 503;
    return false;
  });
  look();
  CHECK(find_deployment(row.id).generation == row.generation);
  const auto view = read([&](db::Tx& tx) { return pushes::view(tx, row.id); });
  CHECK(view->error.value_or("").find("503") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "the loop rolls a failed image back, and deletes previews at their end",
                 "[pushes_loop_test]") {
  const auto row = deploy_from("one");
  look();
  server.push("acme/web", "main", manifest({layer("b", 30)}));
  look();
  deployments::Observation seen;
  seen.status = Status::running;
  seen.reason = deployments::Reason::rollout_failed;
  seen.cause = deployments::Reason::crash_loop;
  record(row.id, find_deployment(row.id).generation, seen);
  const auto preview = write([&](db::Tx& tx) {
    return previews::create(
        tx, actor(adas), row.id,
        {.name = "two", .ttl = previews::shortest, .image = {}, .env = {}, .budget = {}},
        rules_here, keys.data);
  });
  look();
  CHECK(find_deployment(row.id).generation == row.generation + 2);
  CHECK(find_deployment(preview.deployment.id).status == Status::destroyed);
}
