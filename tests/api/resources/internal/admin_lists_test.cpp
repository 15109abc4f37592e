// What admins look at: the audit log by its filters, all apps, the fleet.
#include <catch2/catch.hpp>

#include "controller/domain/kernel/audit.h"
#include "tests/api/gate_world.h"

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

namespace {

using Texts = std::vector<std::string>;

struct Log : GateWorld {
  void record(const char* actor, const char* action, const char* target) {
    world.write([&](db::Tx& tx) { audit::record(tx, actor, action, target); });
  }
  // The targets of the entries, newest first.
  Texts find(const std::string& query) {
    const Answered answer = ask("GET", "/api/internal/audit" + query, admin);
    REQUIRE(answer.status == 200);
    CHECK(answer.body["total"] == answer.body["entries"].size());
    Texts targets;
    for (const json& entry : answer.body["entries"]) targets.push_back(entry["target"]);
    return targets;
  }
};

}  // namespace

TEST_CASE("the audit log is filtered by actor, action, target and time, and by several at once") {
  Log log;
  log.record("ada", "user.suspend", "one");
  log.record("bob", "user.suspend", "two");
  log.world.clock.advance(std::chrono::hours(1));
  const std::string later = to_iso8601(log.world.clock.now());
  log.record("ada", "tier.create", "three");
  log.record("ada", "user.suspend", "two");
  CHECK(log.find("") == Texts{"two", "three", "two", "one"});
  CHECK(log.find("?actor=bob") == Texts{"two"});
  CHECK(log.find("?action=user.suspend") == Texts{"two", "two", "one"});
  CHECK(log.find("?target=two") == Texts{"two", "two"});
  CHECK(log.find("?target=two&actor=ada") == Texts{"two"});
  CHECK(log.find("?actor=ada&action=tier.create") == Texts{"three"});
  CHECK(log.find("?target=one&action=tier.create").empty());
  CHECK(log.find("?from=" + later) == Texts{"two", "three"});
  CHECK(log.find("?to=" + later) == Texts{"two", "one"});
  CHECK(log.find("?actor=ada&to=" + later) == Texts{"one"});
  CHECK(log.find("?from=" + later + "&to=" + later).empty());
  CHECK(log.ask("GET", "/api/internal/audit?from=soon", log.admin).error() ==
        "422 validation_failed");
}

TEST_CASE("a filtered audit log goes on behind its pages") {
  Log log;
  for (const char* target : {"1", "2", "3"}) {
    log.record("ada", "user.suspend", target);
    log.record("bob", "user.suspend", "x");
    log.world.clock.advance(std::chrono::minutes(1));
  }
  std::string cursor;
  for (const char* target : {"3", "2", "1"}) {
    const Answered page = log.ask(
        "GET",
        "/api/internal/audit?actor=ada&page_size=1" + (cursor.empty() ? "" : "&cursor=" + cursor),
        log.admin);
    REQUIRE(page.body["entries"].size() == 1);
    CHECK(page.body["entries"][0]["target"] == target);
    CHECK(page.body["total"] == 3);
    if (page.body["next_cursor"].is_string()) cursor = page.body["next_cursor"];
  }
}

TEST_CASE("admins list all apps, and find them by name, owner, id and client_id") {
  Operator o;
  const accounts::User olga = o.g.world.verified_user("Olga");
  const apps::App other = o.g.world.new_app(olga).app;
  const auto find = [&](const std::string& query) {
    const Answered answer = o.g.ask("GET", "/api/internal/apps" + query, o.g.admin);
    REQUIRE(answer.status == 200);
    Texts ids;
    for (const json& app : answer.body["apps"]) ids.push_back(app["id"]);
    return ids;
  };
  CHECK(find("").size() >= 2);
  CHECK(find("?q=" + other.id) == Texts{other.id});
  CHECK(find("?q=" + other.client_id) == Texts{other.id});
  CHECK(find("?q=olga") == Texts{other.id});
  CHECK(find("?q=nobody").empty());
  const auto named = find("?q=" + other.app_name.substr(0, 3));
  CHECK(std::ranges::count(named, other.id) == 1);
  CHECK(std::ranges::count(named, o.app.id) == (o.app.app_name == other.app_name ? 1 : 0));
  const json app = o.g.ask("GET", "/api/internal/apps?q=ada", o.g.admin).body["apps"][0];
  CHECK(app["owner"] == "ada");
  CHECK(std::ranges::count(app["approved_scopes"], json("deploy:manage")) == 1);
  CHECK(app["suspended"] == false);
  CHECK(o.g.ask("GET", "/api/internal/apps").error() == "403 forbidden");
}

TEST_CASE("admins see the state of berthd's work") {
  Operator o;
  o.g.services.cluster.fleet = [] {
    Fleet state;
    state.leader = "host-1";
    state.waiting = 3;
    return state;
  };
  o.g.ask("POST", "/api/deploy/apps", {o.token}, o.order());
  const Answered answer = o.g.ask("GET", "/api/internal/fleet", o.g.admin);
  REQUIRE(answer.status == 200);
  CHECK(answer.body["cluster"]["leader"] == "host-1");
  CHECK(answer.body["cluster"]["error"].is_null());
  CHECK(answer.body["reconciles"]["waiting"] == 3);
  CHECK(answer.body["deployments"]["pending"] == 1);
  CHECK(answer.body["certificates"]["most"] == 200);
  CHECK(answer.body["failed"].empty());
  CHECK(o.g.ask("GET", "/api/internal/fleet", {o.token}).status == 403);
}

TEST_CASE(
    "admins see each path that the isolation probe tried, and anybody the number of open ones") {
  Operator o;
  Isolation known = {.mode = isolation::Mode::required, .is_busy = true};
  known.state = isolation::State::open;
  isolation::Report measured = {.at = o.g.world.clock.now(),
                                .paths = {{.from = "first tenant",
                                           .to = "cloud metadata",
                                           .target = "tcp/169.254.169.254/80",
                                           .wanted = isolation::Wanted::shut,
                                           .result = isolation::Result::open,
                                           .detail = "answer"},
                                          {.from = "first tenant",
                                           .to = "cluster's DNS",
                                           .target = "udp/@dns/53",
                                           .wanted = isolation::Wanted::open,
                                           .result = isolation::Result::shut,
                                           .detail = "silence"}}};
  known.known = std::make_shared<const isolation::Known>(
      isolation::Known{.report = std::move(measured), .problem = {}, .problem_at = {}});
  int asked = 0;
  o.g.services.cluster.isolation = [&] { return known; };
  o.g.services.cluster.probe_isolation = [&] {
    ++asked;
    return known;
  };
  const Answered report = o.g.ask("GET", "/api/internal/isolation", o.g.admin);
  REQUIRE(report.status == 200);
  CHECK(report.body["state"] == "open");
  CHECK(report.body["open"] == 1);
  CHECK(report.body["blocked"] == 1);
  CHECK(report.body["paths"][0]["target"] == "tcp/169.254.169.254/80");
  CHECK(o.g.ask("POST", "/api/internal/isolation/probe", o.g.admin).body["busy"] == true);
  CHECK(asked == 1);
  CHECK(o.g.ask("GET", "/api/internal/audit?action=isolation.ask", o.g.admin)
            .body["entries"]
            .size() == 1);
  const Answered health = o.g.ask("GET", "/health");
  CHECK(health.body["isolation"] == json{{"state", "open"}, {"open_paths", 1}});
  CHECK_FALSE(health.text.contains("169.254"));
  CHECK(o.g.ask("GET", "/api/internal/isolation", {o.token}).status == 403);
  CHECK(o.g.ask("POST", "/api/internal/isolation/probe", {o.token}).status == 403);
  CHECK(asked == 1);
}
