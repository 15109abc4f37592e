// What deployments used over time: how it is stored, summed up, forgotten, and measured.
#include "reconcilers/cluster/usage_history.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "reconcilers/cluster/traefik_metrics.h"
#include "reconcilers/cluster/usage_sampler.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"
#include "tests/temp_dir.h"

using namespace berth;
using namespace berth::reconcilers;
using usage_history::Metric;
using usage_history::minute;
using usage_history::quarter;
using usage_history::Values;

namespace {

const Instant noon = Instant(std::chrono::days(20'000) + std::chrono::hours(12));

Values values(std::initializer_list<std::pair<Metric, std::int64_t>> known) {
  Values all;
  for (const auto& [metric, value] : known) all.at(size_t(metric)) = value;
  return all;
}

// The values of one metric in steps that begin at `from`; -1 where there is none.
std::vector<std::int64_t> read(UsageHistory& history, const std::string& id, Metric metric,
                               Instant from, Duration step, int count) {
  std::vector<std::int64_t> found;
  for (const Values& each :
       history.read({.deployment_id = id, .from = from, .step = step, .count = count}))
    found.push_back(each.at(size_t(metric)).value_or(-1));
  return found;
}

using Numbers = std::vector<std::int64_t>;

struct Stored {
  berth::test::TempDir folder;
  std::filesystem::path file = folder.path() / "usage-history.db";
  UsageHistory history{file};
};

}  // namespace

TEST_CASE("minutes are read as they were stored, and gaps as nothing") {
  Stored stored;
  stored.history.add(noon, {{"a", values({{Metric::cpu, 10}})}, {"b", values({{Metric::cpu, 7}})}});
  stored.history.add(noon + 2 * minute,
                     {{"a", values({{Metric::cpu, 30}, {Metric::restarts, 1}})}});
  CHECK(read(stored.history, "a", Metric::cpu, noon - minute, minute, 5) ==
        Numbers{-1, 10, -1, 30, -1});
  CHECK(read(stored.history, "a", Metric::restarts, noon, minute, 3) == Numbers{-1, -1, 1});
  CHECK(read(stored.history, "b", Metric::cpu, noon, minute, 1) == Numbers{7});
  CHECK(read(stored.history, "c", Metric::cpu, noon, minute, 2) == Numbers{-1, -1});
}

TEST_CASE("a quarter of an hour is summed up once it is over, also after a restart") {
  Stored stored;
  for (int i = 0; i < 10; ++i)
    stored.history.add(noon + i * minute, {{"a", values({{Metric::memory, 100 + i * 10},
                                                         {Metric::requests_2xx, 3},
                                                         {Metric::latency_p99, i}})}});
  CHECK(read(stored.history, "a", Metric::memory, noon, quarter, 1) == Numbers{-1});
  UsageHistory again(stored.file);
  again.add(noon + 40 * minute, {{"a", values({{Metric::memory, 5}})}});
  again.add(noon + 46 * minute, {{"a", values({{Metric::memory, 7}})}});
  CHECK(read(again, "a", Metric::memory, noon, quarter, 4) == Numbers{145, -1, 5, -1});
  CHECK(read(again, "a", Metric::requests_2xx, noon, quarter, 1) == Numbers{30});
  CHECK(read(again, "a", Metric::latency_p99, noon, quarter, 1) == Numbers{9});
  CHECK(read(again, "a", Metric::cpu, noon, quarter, 1) == Numbers{-1});
}

TEST_CASE("minutes are kept for a day, and quarters of an hour for 30 days") {
  Stored stored;
  const auto sample = [&](Instant at, const char* id) {
    stored.history.add(at, {{id, values({{Metric::cpu, 1}})}});
  };
  sample(noon, "a");
  sample(noon + std::chrono::hours(24), "b");
  CHECK(read(stored.history, "a", Metric::cpu, noon, minute, 1) == Numbers{1});
  sample(noon + std::chrono::hours(24) + quarter, "b");
  CHECK(read(stored.history, "a", Metric::cpu, noon, minute, 1) == Numbers{-1});
  CHECK(read(stored.history, "a", Metric::cpu, noon, quarter, 1) == Numbers{1});
  sample(noon + std::chrono::days(30), "b");
  CHECK(read(stored.history, "a", Metric::cpu, noon, quarter, 1) == Numbers{1});
  sample(noon + std::chrono::days(31), "b");
  CHECK(read(stored.history, "a", Metric::cpu, noon, quarter, 1) == Numbers{-1});
  SQLite::Database file(stored.file.string(), SQLite::OPEN_READONLY);
  SQLite::Statement count(file, "SELECT count(*) FROM series");
  REQUIRE(count.executeStep());
  CHECK(count.getColumn(0).getInt() == 1);
}

TEST_CASE("a minute that is stored stays as it is") {
  Stored stored;
  stored.history.add(noon, {{"a", values({{Metric::cpu, 1}})}});
  stored.history.add(noon + std::chrono::seconds(30), {{"a", values({{Metric::cpu, 2}})}});
  CHECK(read(stored.history, "a", Metric::cpu, noon, minute, 1) == Numbers{1});
}

TEST_CASE("a damaged file of the history begins anew") {
  const berth::test::TempDir folder;
  const std::filesystem::path file = folder.path() / "usage-history.db";
  std::ofstream(file) << std::string(10'000, 'x');
  UsageHistory history(file);
  history.add(noon, {{"a", values({{Metric::cpu, 1}})}});
  CHECK(read(history, "a", Metric::cpu, noon, minute, 1) == Numbers{1});
}

TEST_CASE("Traefik's answers are counted by class, and their times become quantiles") {
  const auto page = [](int ok, int failed, int fast, int all) {
    const std::string service =
        R"(,method="GET",protocol="http",service="ns-shop-http@kubernetes")";
    const auto line = [&](const char* code, const std::string& rest, int count) {
      return std::string("traefik_service_") + rest + "{code=\"" + code + "\"" + service + "} " +
             std::to_string(count) + "\n";
    };
    const auto bucket = [&](const char* bound, int count) {
      return std::string("traefik_service_request_duration_seconds_bucket{code=\"200\"") + service +
             ",le=\"" + bound + "\"} " + std::to_string(count) + "\n";
    };
    return traefik_traffic(line("200", "requests_total", ok) + line("204", "requests_total", 1) +
                           line("503", "requests_total", failed) + bucket("0.1", fast) +
                           bucket("0.3", all) + bucket("+Inf", all));
  };
  const Traffic before = page(10, 1, 8, 10).at("ns-shop-http@kubernetes");
  const Traffic now = page(30, 3, 18, 30).at("ns-shop-http@kubernetes");
  const Traffic passed = since(before, now);
  CHECK(passed.by_class == std::array<std::int64_t, 4>{20, 0, 0, 2});
  CHECK(answer_time(passed, 0.5) == 100);
  CHECK(answer_time(passed, 0.75) == 200);
  CHECK(answer_time(passed, 1) == 300);
  CHECK_FALSE(answer_time(since(now, now), 0.5));
  // Traefik was started again.
  CHECK(since(now, before).by_class == before.by_class);
}

TEST_CASE("what runs on the cluster is measured once a minute") {
  reconcilers::test::TestCluster cluster;
  reconcilers::test::World world(cluster.config());
  world.wake();
  const std::string id = world.deploy(world.new_app());
  REQUIRE(
      reconcilers::test::eventually([&] { return world.is(id, deployments::Status::running); }));
  const berth::test::TempDir folder;
  UsageHistory history(folder.path() / "usage-history.db");
  Clock clock = Clock::standing_at(noon);
  UsageSampler sampler({.cache = world.engine().cache(),
                        .history = history,
                        .clock = clock,
                        .cluster = cluster.config(),
                        .label_selector = manifests::selector(world.settings()),
                        .requests = {}});
  CHECK(read(history, id, Metric::replicas, noon, minute, 1) == Numbers{-1});
  sampler.run_once();
  CHECK(read(history, id, Metric::replicas, noon, minute, 1) == Numbers{1});
  CHECK(read(history, id, Metric::restarts, noon, minute, 1) == Numbers{0});
  CHECK(read(history, id, Metric::cpu, noon, minute, 1).front() > 0);
  CHECK(read(history, id, Metric::memory, noon, minute, 1).front() > 1'000'000);
  CHECK(read(history, id, Metric::requests_2xx, noon, minute, 1) == Numbers{-1});
}
