#include "controller/domain/webhooks/app_events.h"

#include <catch2/catch.hpp>

#include "controller/domain/webhooks/webhooks.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::Observation;
using deployments::Status;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.approved_app(ada, {Scope::deploy_manage});
  deployments::Deployment row = world.deploy(app, order());

  void see(Status status, const std::string& phase = "") {
    Observation seen;
    seen.status = status;
    seen.phase = phase;
    world.record(row.id, world.find_deployment(row.id).generation, seen);
  }
  std::vector<app_events::Event> changes(std::int64_t after = 0, int most = 1000) {
    return world.read(
        [&](db::Tx& tx) { return app_events::status_changes(tx, row.id, after, most); });
  }
  std::string told(std::int64_t after = 0) {
    std::string text;
    for (const auto& event : changes(after))
      text += (text.empty() ? "" : ", ") + event.data.at("status").get<std::string>() +
              (event.data.at("phase") == "" ? "" : ":" + event.data.at("phase").get<std::string>());
    return text;
  }
};

}  // namespace

TEST_CASE("every change of a shown status is recorded as an event, whatever makes it") {
  Fixture f;
  f.see(Status::pending, "pulling");
  f.see(Status::deploying, "starting");
  f.see(Status::running);
  f.see(Status::running);
  f.world.stop(f.app, f.row.id);
  f.world.restart(f.app, f.row.id);
  f.world.write([&](db::Tx& tx) {
    tx.execute(
        "UPDATE deployments SET status = 'stopped', reason = 'suspended_by_admin' WHERE "
        "id = $1",
        f.row.id);
  });
  f.world.destroy(f.app, f.row.id);
  CHECK(f.told() ==
        "pending, pending:pulling, deploying:starting, running, stopped, deploying, stopped, "
        "destroyed");
  const auto all = f.changes();
  CHECK(f.told(all[5].id) == "stopped, destroyed");
  CHECK(all[6].data.at("reason") == "suspended_by_admin");
  CHECK(all[0].data.at("subdomain") == "shop");
  CHECK(all[0].at == f.row.inserted_at);
  CHECK(f.world.read([&](db::Tx& tx) { return app_events::newest_status_change(tx, f.row.id); }) ==
        all.back().id);
}

TEST_CASE("undone changes make no event, and ids are never reused") {
  Fixture f;
  const auto first = f.changes().back().id;
  CHECK_THROWS(f.world.write([&](db::Tx& tx) {
    deployments::stop(tx, f.world.actor(f.app), f.row.id);
    throw std::runtime_error("undone");
  }));
  CHECK(f.changes().size() == 1);
  f.world.stop(f.app, f.row.id);
  CHECK(f.changes().back().id > first);
}

TEST_CASE("the newest 200 of a deployment stay, and the newest one for ever") {
  Fixture f;
  for (int i = 0; i < 150; ++i) {
    f.see(Status::errored);
    f.see(Status::deploying);
  }
  CHECK(f.changes().size() == app_events::kept_of_a_subject);
  CHECK(f.changes(0, 10).size() == 10);
  f.world.clock.advance(app_events::kept_for);
  f.world.write([](db::Tx& tx) { return app_events::remove_old(tx, 1000); });
  CHECK(f.told() == "deploying");
}

TEST_CASE("webhooks are told each new status, but not the steps between") {
  Fixture f;
  f.world.write([&](db::Tx& tx) {
    webhooks::create(tx, f.app.id, "https://a.example.org/", {"deployment.status"},
                     webhooks::Schemes::only_https, f.world.keys.data);
  });
  f.see(Status::pending, "pulling");
  f.see(Status::deploying, "starting");
  f.see(Status::deploying, "probing");
  f.see(Status::running);
  const auto told =
      f.world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM webhook_deliveries"); });
  CHECK(told == 2);
}
