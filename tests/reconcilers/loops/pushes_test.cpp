// The loop that follows images' tags, against a registry on a loopback port.
#include "reconcilers/loops/pushes.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

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
    return deploy_image(name, server.host() + "/acme/web:main");
  }
  Deployment deploy_image(const std::string& name, const std::string& image) {
    deployments::Order wanted = order(name);
    wanted.container.image = image;
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

TEST_CASE_METHOD(Fixture, "a registry that hangs is asked by a few, and the others are answered",
                 "[pushes_loop_test]") {
  using namespace std::chrono_literals;
  const std::string silent = "silent.example";
  rules_here.registries = {server.host(), silent};
  std::atomic<int> questions = 0, at_once = 0, most = 0;
  PushLoop patient{{.data_key = keys.data,
                    .rules = rules_here,
                    .ask =
                        [&](const pushes::Question& question, const std::stop_token& stop) {
                          if (!question.image.starts_with(silent)) return asked(question, stop);
                          ++questions;
                          most = std::max(most.load(), ++at_once);
                          std::this_thread::sleep_for(200ms);
                          --at_once;
                          return pushes::Answer{.digest = {}, .error = "no answer in time"};
                        },
                    .silent_after = 100ms},
                   metrics};
  std::vector<Deployment> hanging;
  for (int i = 0; i < 20; ++i)
    hanging.push_back(deploy_image("silent-" + std::to_string(i), silent + "/acme/web:main"));
  const auto fine = deploy_from("fine");
  clock.advance(pushes::asked_every);
  const auto began = std::chrono::steady_clock::now();
  round.run([&](Round& running) { patient.run_once(running); });
  // One after the other, they would have taken two seconds.
  CHECK(std::chrono::steady_clock::now() - began < 1500ms);
  CHECK(questions <= PushLoop::threads_of_registry);
  CHECK(most <= PushLoop::threads_of_registry);
  const auto view_of = [&](const Deployment& row) {
    return read([&](db::Tx& tx) { return pushes::view(tx, row.id).value(); });
  };
  CHECK(view_of(fine).digest);
  for (const Deployment& row : hanging) {
    CHECK(view_of(row).error == "no answer in time");
    CHECK(view_of(row).next_at > clock.now());
  }
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
