// GET …/metrics/history: which steps are asked for, and how they are answered.
#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

namespace {

struct Asking : Operator {
  usage_history::Wanted wanted;  // last
  std::string path;

  Asking() {
    g.services.cluster.usage_history = [this](const usage_history::Wanted& asked) {
      wanted = asked;
      std::vector<usage_history::Values> steps(size_t(asked.count));
      steps.front().at(size_t(usage_history::Metric::cpu)) = 7;
      return steps;
    };
    path = "/api/deploy/apps/" +
           g.ask("POST", "/api/deploy/apps", {token}, order()).body.value("id", "") +
           "/metrics/history";
  }
  Answered ask(const std::string& query) { return g.ask("GET", path + query, {token}); }
  std::string time(Duration ago) { return to_iso8601(g.world.clock.now() - ago); }
};

}  // namespace

TEST_CASE("the history's default is the last 24 hours by minutes") {
  Asking world;
  const Answered answer = world.ask("");
  REQUIRE(answer.status == 200);
  CHECK(answer.body["step"] == 60);
  CHECK(world.wanted.step == usage_history::minute);
  CHECK(world.wanted.from.time_since_epoch() % usage_history::minute == Duration(0));
  const size_t count = answer.body["count"].get<size_t>();
  CHECK((count == 1440 || count == 1441));
  CHECK(answer.body["from"] == to_iso8601(world.wanted.from));
  REQUIRE(answer.body["series"].size() == usage_history::metrics);
  for (const auto& [name, values] : answer.body["series"].items()) CHECK(values.size() == count);
  CHECK(answer.body["series"]["cpu"][0] == 7);
  CHECK(answer.body["series"]["memory"][0].is_null());
}

TEST_CASE("older history is in quarters of an hour, and one metric can be chosen") {
  Asking world;
  const Answered answer =
      world.ask("?metric=latency_p99&from=" + world.time(72h) + "&to=" + world.time(48h));
  REQUIRE(answer.status == 200);
  CHECK(answer.body["step"] == 900);
  CHECK(world.wanted.step == usage_history::quarter);
  CHECK(answer.body["series"].size() == 1);
  CHECK(answer.body["series"].contains("latency_p99"));
  const int count = answer.body["count"];
  CHECK((count == 96 || count == 97));
}

TEST_CASE("history that can't be answered is refused with the parameter") {
  Asking world;
  const auto wrong = [&](const std::string& query) {
    const Answered answer = world.ask(query);
    CHECK(answer.error() == "422 validation_failed");
    return answer.body["error"]["details"].begin().key();
  };
  CHECK(wrong("?metric=heat") == "metric");
  CHECK(wrong("?step=61") == "step");
  CHECK(wrong("?from=yesterday") == "from");
  CHECK(wrong("?from=" + world.time(1h) + "&to=" + world.time(2h)) == "from");
  CHECK(wrong("?step=60&from=" + world.time(72h)) == "from");
  CHECK(wrong("?from=0001-01-01T00:00:00Z") == "from");
  CHECK(world.g.ask("GET", world.path).error() == "401 invalid_token");
  CHECK(world.g
            .ask("GET", "/api/deploy/apps/01936f5e-7c1a-7000-8000-000000000005/metrics/history",
                 {world.token})
            .status == 404);
}
