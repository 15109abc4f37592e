// Runs and crons by the API.
#include "controller/domain/deployments/runs/runs.h"

#include <catch2/catch.hpp>

#include "controller/domain/deployments/runs/crons.h"
#include "tests/api/gate/event_text.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

struct Fixture : Operator {
  std::string id;
  std::string path;

  Fixture() {
    json body = json::parse(order());
    body["crons"] = {{{"name", "tick"}, {"schedule", "*/10 * * * *"}, {"command", {"./tick"}}}};
    const auto made = g.ask("POST", "/api/deploy/apps", {token}, body.dump());
    REQUIRE(made.status == 201);
    id = made.body.at("id");
    path = "/api/deploy/apps/" + id;
    deployments::Observation seen;
    seen.status = deployments::Status::running;
    seen.image_digest = "ghcr.io/acme/web@sha256:" + std::string(64, '1');
    REQUIRE(g.world.record(id, 1, seen));
  }

  Answered post(const std::string& rest, const json& body = json::object()) {
    return g.ask("POST", path + rest, {token}, body.dump());
  }
  Answered get(const std::string& rest) { return g.ask("GET", path + rest, {token}); }
  json run(const json& body = {{"command", {"./job"}}}) {
    const auto made = post("/runs", body);
    REQUIRE(made.status == 201);
    return made.body.at("run");
  }
  void ends(const json& run, int code, const std::string& lines = "") {
    g.world.write([&](db::Tx& tx) {
      const std::string run_id = run.at("id");
      runs::record(tx, run_id,
                   {.started_at = tx.now(), .end = runs::End{.at = tx.now(), .exit_code = code}});
      runs::store_log(tx, run_id, {.lines = lines});
    });
    g.services.memory.events->wake(db::Topic::run, run.at("id"));
  }
  // All that a stream sends until it ends, or would wait.
  static std::vector<ReadEvent> events_of(Response& response) {
    EventText text;
    std::vector<ReadEvent> events;
    const Sink sink = [&](std::string_view data) {
      for (auto& event : text.read(data)) events.push_back(std::move(event));
    };
    Steps steps(response.stream);
    while (steps.next(sink)) {
    }
    return events;
  }
};

}  // namespace

TEST_CASE("a run is made, listed, shown and cancelled by the API") {
  Fixture f;
  const json made =
      f.run({{"command", {"./job", "--all"}}, {"process", "web"}, {"timeout_seconds", 60}});
  CHECK(made["status"] == "pending");
  CHECK(made["kind"] == "run");
  CHECK(made["name"].is_null());
  CHECK(made["command"] == json{"./job", "--all"});
  CHECK(made["timeout_seconds"] == 60);
  CHECK(made["exit_code"].is_null());
  CHECK(made["created_by"] == f.user.id);
  const std::string run_id = made["id"];
  CHECK(f.get("/runs/" + run_id).body["run"] == made);
  CHECK(f.get("/runs").body["runs"] == json::array({made}));
  const auto cancelled = f.g.ask("DELETE", f.path + "/runs/" + run_id, {f.token});
  CHECK(cancelled.status == 200);
  CHECK(cancelled.body["run"]["status"] == "cancelled");
  CHECK(cancelled.body["run"]["reason"] == "cancelled_by_owner");
  CHECK(f.g.ask("DELETE", f.path + "/runs/" + run_id, {f.token}).body == cancelled.body);
  const json other = f.run();
  f.ends(other, 3);
  const json failed = f.get("/runs/" + other["id"].get<std::string>()).body["run"];
  CHECK(failed["status"] == "failed");
  CHECK(failed["exit_code"] == 3);
  CHECK(failed["reason"] == "command_failed");
}

TEST_CASE("refusals of runs say what is wrong") {
  Fixture f;
  CHECK(f.post("/runs", {{"command", json::array()}}).error() == "422 validation_failed");
  CHECK(f.post("/runs").error() == "422 validation_failed");
  CHECK(f.post("/runs", {{"command", {"x"}}, {"timeout_seconds", 0}}).error() ==
        "422 validation_failed");
  CHECK(f.post("/runs", {{"command", {"x"}}, {"process", "worker"}}).error() ==
        "422 validation_failed");
  const std::string nobody = "01936f5e-7c1a-7000-8000-0000000000ff";
  CHECK(f.get("/runs/" + nobody).error() == "404 run_not_found");
  CHECK(f.get("/runs/" + nobody + "/logs").error() == "404 run_not_found");
  CHECK(f.post("/crons/tock/runs").error() == "404 cron_not_found");
  for (int i = 0; i < runs::max_open_of_deployment; ++i) f.run();
  CHECK(f.post("/runs", {{"command", {"x"}}}).error() == "409 run_limit_reached");
  f.post("/stop");
  CHECK(f.post("/runs", {{"command", {"x"}}}).error() == "409 invalid_state");
  // A run of another deployment isn't one of this.
  const std::string run_id = f.get("/runs").body["runs"][0]["id"];
  const std::string other =
      f.g.ask("POST", "/api/deploy/apps", {f.token}, f.order("other")).body.at("id");
  CHECK(f.g.ask("GET", "/api/deploy/apps/" + other + "/runs/" + run_id, {f.token}).error() ==
        "404 run_not_found");
  CHECK(f.g.ask("GET", f.path + "/runs").error() == "401 invalid_token");
}

TEST_CASE("crons are listed with their next minute and last run, and run now") {
  Fixture f;
  const json cron = f.get("/crons").body["crons"][0];
  CHECK(cron["name"] == "tick");
  CHECK(cron["zone"] == "UTC");
  CHECK(cron["next_at"] == "2026-01-31T12:10:00.000Z");
  CHECK(cron["last"].is_null());
  CHECK(cron["skipped"].is_null());
  const auto started = f.post("/crons/tick/runs");
  REQUIRE(started.status == 201);
  const json run = started.body["run"];
  CHECK(run["kind"] == "cron");
  CHECK(run["name"] == "tick");
  CHECK(run["scheduled_at"].is_null());
  CHECK(f.post("/crons/tick/runs").error() == "409 invalid_state");
  f.ends(run, 0);
  const json last = f.get("/crons").body["crons"][0]["last"];
  CHECK(last["run_id"] == run["id"]);
  CHECK(last["status"] == "succeeded");
  CHECK(last["exit_code"] == 0);
}

TEST_CASE("the output of a run that is over is what was kept") {
  Fixture f;
  const json run = f.run();
  f.ends(run, 2, "t1/a/1\tone\nt2/a/1\ttwo\twords\n");
  const std::string logs = f.path + "/runs/" + run["id"].get<std::string>() + "/logs";
  Response answer = f.g.respond("GET", logs, {f.token, {"Accept", "text/event-stream"}});
  CHECK(answer.status == 200);
  const auto events = Fixture::events_of(answer);
  REQUIRE(events.size() == 3);
  CHECK(events[0].id == "t1/a/1");
  CHECK(events[0].data == "one");
  CHECK(events[1].data == "two\twords");
  CHECK(events[2].name == "status");
  CHECK(json::parse(events[2].data)["exit_code"] == 2);
  Response rest = f.g.respond(
      "GET", logs, {f.token, {"Accept", "text/event-stream"}, {"Last-Event-ID", "t1/a/1"}});
  const auto later = Fixture::events_of(rest);
  REQUIRE(later.size() == 2);
  CHECK(later[0].data == "two\twords");
}

TEST_CASE("the output of a run is followed from its container to what was kept of it") {
  Fixture f;
  // The container has written one line so far.
  std::vector<container_logs::Line> lines = {{.id = "t1", .text = "one"}};
  std::vector<container_logs::Wanted> asked;
  f.g.services.cluster.container_logs = [&](const container_logs::Wanted& wanted) {
    asked.push_back(wanted);
    return [&](std::chrono::milliseconds) {
      return container_logs::Batch{.lines = std::exchange(lines, {})};
    };
  };
  const json run = f.run();
  const std::string logs = f.path + "/runs/" + run["id"].get<std::string>() + "/logs?follow=true";
  Response answer = f.g.respond("GET", logs, {f.token, {"Accept", "text/event-stream"}});
  EventText text;
  std::vector<ReadEvent> events;
  const Sink sink = [&](std::string_view data) {
    for (auto& event : text.read(data)) events.push_back(std::move(event));
  };
  Steps steps(answer.stream);
  while (events.size() < 2 && steps.next(sink)) {
  }
  REQUIRE(events.size() == 2);
  CHECK(events[0].name == "status");
  CHECK(json::parse(events[0].data)["status"] == "pending");
  CHECK(events[1].data == "one");
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].run_id == run["id"]);
  CHECK(asked[0].follow == container_logs::Follow::yes);
  f.ends(run, 0, "t1\tone\nt2\ttwo\n");
  while (steps.next(sink)) {
  }
  REQUIRE(events.size() == 4);
  CHECK(events[2].data == "two");
  CHECK(json::parse(events[3].data)["status"] == "succeeded");
}
