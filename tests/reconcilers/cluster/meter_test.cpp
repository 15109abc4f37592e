// What the meter is told of the containers that run: on whichever cluster the tests are given, and
// what a simulated one can be made to do.
#include "controller/domain/deployments/metering/meter.h"

#include <httplib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "controller/domain/deployments/metering/usage.h"
#include "controller/domain/deployments/runs/runs.h"
#include "reconcilers/cluster/run_recorder.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using namespace std::chrono_literals;
using deployments::Status;
using metering::Ending;
using metering::Interval;

namespace {

std::vector<Interval> intervals(World& world, const std::string& id) {
  return world.database().read([&](db::Tx& tx) {
    return metering::interval_page(tx, id, 0, utc_day(tx.now()), {.page_size = 100}).items;
  });
}

std::optional<Interval> interval(World& world, const std::string& run) {
  const std::string pod = run.substr(0, run.find('/'));
  const auto id = world.database().read([&](db::Tx& tx) {
    auto rows = tx.query("SELECT deployment_id FROM meter_intervals WHERE pod = $1", pod);
    return rows.next() ? rows.text("deployment_id") : "";
  });
  const auto all = intervals(world, id);
  const auto found = std::ranges::find(all, run, &Interval::run);
  return found == all.end() ? std::nullopt : std::optional(*found);
}

bool has_ended(World& world, const std::string& run) {
  return eventually([&] {
    const auto found = interval(world, run);
    return found && found->ended_at;
  });
}

size_t open_runs(World& world, const std::string& id) {
  const auto all = intervals(world, id);
  return size_t(std::ranges::count_if(all, [](const Interval& one) { return !one.ended_at; }));
}

Instant watched_until(World& world) {
  return world.database().read([](db::Tx& tx) { return metering::watched_until(tx); });
}

// The pod as its DELETED event shows it: its container ended in the second in which it began.
Object with_end(Object pod) {
  Object& state = pod["status"]["containerStatuses"][0]["state"];
  const Object started = state["running"]["startedAt"];
  state = {{"terminated", {{"startedAt", started}, {"finishedAt", started}, {"exitCode", 0}}}};
  return pod;
}

// The only pod that isn't being deleted.
Object living_pod(World& world, const std::string& id) {
  for (Object& pod : world.objects(kube::pods, id))
    if (!is_being_deleted(pod)) return std::move(pod);
  return {};
}

std::string deploy_metered(World& world, const std::string& image = "ghcr.io/acme/web:1") {
  world.new_tier("metered", 3'600);
  const std::string app = world.new_app();
  world.give(app, 1'000'000);
  return world.deploy(app, {.image = image, .tier = "metered"});
}

// A simulated cluster, and a metered deployment that runs on it.
struct Running {
  embedded::Cluster cluster{quick()};
  World world{config_of(cluster)};
  std::string id = deploy_metered(world);
  Object pod;
  std::string run;

  Running() {
    world.wake();
    REQUIRE(world.is(id, Status::running));
    REQUIRE(world.settles());
    pod = living_pod(world, id);
    run = uid_of(pod) + "/0";
  }
  bool is_gone() {
    return eventually(
        [&] { return !cluster.get("pods", namespace_of(pod), name_of(pod)).has_value(); });
  }
};

}  // namespace

TEST_CASE("a command's container is metered beside the deployment's, and ends with the command") {
  Running shop;
  const std::string app = shop.world.row(shop.id).app_id;
  const std::string command = shop.world.database().write([&](db::Tx& tx) {
    return runs::create(tx, {app, app, "request-6"}, shop.id, {.command = {"sleep", "250"}}).id;
  });
  REQUIRE(eventually([&] { return open_runs(shop.world, shop.id) == 2; }));
  REQUIRE(eventually([&] { return open_runs(shop.world, shop.id) == 1; }));
  const auto all = intervals(shop.world, shop.id);
  REQUIRE(all.size() == 2);
  const auto ended =
      std::ranges::find_if(all, [&](const Interval& one) { return one.run != shop.run; });
  REQUIRE(ended != all.end());
  CHECK(ended->ended_at);
  CHECK(ended->ending == Ending::finished);
  CHECK(eventually([&] {
    return shop.world.database().read([&](db::Tx& tx) {
      return runs::find(tx, command).value().status == runs::Status::succeeded;
    });
  }));
}

TEST_CASE("each run of a metered deployment is recorded once, by the cluster's times") {
  TestCluster cluster;
  World world(cluster.config());
  const std::string id = deploy_metered(world);
  world.wake();
  REQUIRE(world.is(id, Status::running));
  // It was written together with the status.
  REQUIRE(intervals(world, id).size() == 1);
  const Object pod = living_pod(world, id);
  const std::string first = uid_of(pod) + "/0";
  const auto started =
      instant_at(pod["status"]["containerStatuses"][0], {"state", "running", "startedAt"});
  REQUIRE(started);
  REQUIRE(interval(world, first));
  CHECK_FALSE(interval(world, first)->ended_at);
  // Runtimes name whole seconds, and the deployment didn't run before it was created.
  CHECK(interval(world, first)->started_at >= *started);
  CHECK(interval(world, first)->started_at - *started < 1s);

  world.stop(id);
  REQUIRE(has_ended(world, first));
  CHECK(interval(world, first)->ended_at >= interval(world, first)->started_at);
  // A node that is only claimed doesn't say when its containers end.
  if (!TestCluster::is_real()) CHECK(interval(world, first)->ending == Ending::finished);
  REQUIRE(world.settles());
  const auto stopped = intervals(world, id);
  CHECK(stopped.size() == 1);

  world.restart(id);
  REQUIRE(world.is(id, Status::running));
  CHECK(intervals(world, id).size() == 2);
  CHECK(open_runs(world, id) == 1);
  world.sleep();
  world.wake();
  REQUIRE(world.settles());
  CHECK(intervals(world, id).size() == 2);
  CHECK(open_runs(world, id) == 1);

  world.destroy(id);
  REQUIRE(world.is_removed(id));
  CHECK(eventually([&] { return open_runs(world, id) == 0; }));
  CHECK(intervals(world, id).size() == 2);
}

TEST_CASE("an old and a new version that run side by side are both recorded") {
  Running r;
  r.world.change(r.id, "image = 'ghcr.io/acme/web:2'");
  REQUIRE(r.world.is(r.id, Status::running));
  REQUIRE(has_ended(r.world, r.run));
  const Interval old = *interval(r.world, r.run);
  const Interval next = *interval(r.world, uid_of(living_pod(r.world, r.id)) + "/0");
  CHECK(old.ending == Ending::finished);
  CHECK_FALSE(next.ended_at);
  CHECK(*old.ended_at >= next.started_at - 1s);
}

TEST_CASE("a container that crashes has a run for each of its starts") {
  embedded::Cluster cluster{quick()};
  World world(config_of(cluster));
  const std::string id = deploy_metered(world, "ghcr.io/acme/crash:1");
  world.wake();
  REQUIRE(eventually([&] { return intervals(world, id).size() >= 3; }));
  const std::string uid = uid_of(living_pod(world, id));
  auto all = intervals(world, id);
  std::ranges::sort(all, {}, [](const Interval& one) {
    return std::stoi(one.run.substr(one.run.find('/') + 1));
  });
  std::set<std::string> names;
  Instant before;
  for (const Interval& one : all) {
    CHECK(names.insert(one.run).second);
    CHECK(one.run.starts_with(uid + "/"));
    CHECK(one.started_at >= before);
    if (!one.ended_at) continue;
    CHECK(one.ending == Ending::finished);
    before = *one.ended_at;
  }
}

TEST_CASE("a deployment without a price by the hour isn't recorded until its tier gets one") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string app = world.new_app();
  const std::string id = world.deploy(app);
  REQUIRE(world.is(id, Status::running));
  REQUIRE(world.settles());
  CHECK(intervals(world, id).empty());
  CHECK(watched_until(world) == Instant());
  world.give(app, 1'000'000);
  world.database().write([](db::Tx& tx) {
    tiers::Tier tier = *tiers::find_by_slug(tx, "small");
    tier.points_per_hour = 60;
    tiers::update(tx, tier);
  });
  CHECK(eventually([&] { return open_runs(world, id) == 1; }));
  CHECK(interval(world, uid_of(living_pod(world, id)) + "/0"));
}

TEST_CASE("while something metered runs, it is stored until when pods were followed") {
  Running r;
  REQUIRE(eventually([&] { return watched_until(r.world) > Instant(); }));
  CHECK(watched_until(r.world) <= system_time());
}

TEST_CASE("what ends while the API server is away ends by the runtime's word, if there is one") {
  const bool is_forgotten = GENERATE(false, true);
  Running r;
  r.cluster.go_down();
  const Instant down_at = system_time();
  REQUIRE(r.cluster.remove("pods", namespace_of(r.pod), name_of(r.pod)));
  REQUIRE(r.is_gone());
  if (is_forgotten) r.cluster.compact();  // so that everything has to be listed again
  r.cluster.come_back();
  REQUIRE(has_ended(r.world, r.run));
  const Interval ended = *interval(r.world, r.run);
  CHECK(ended.ending == (is_forgotten ? Ending::vanished : Ending::finished));
  if (is_forgotten)
    CHECK(*ended.ended_at <= std::max(down_at, ended.started_at));
  else
    CHECK(*ended.ended_at >= std::chrono::floor<std::chrono::seconds>(down_at));
  CHECK(eventually([&] { return open_runs(r.world, r.id) == 1; }));
  CHECK(intervals(r.world, r.id).size() == 2);
}

TEST_CASE("what vanished while berthd was away ended when pods were followed last") {
  Running r;
  const Interval before = *interval(r.world, r.run);
  const Instant last = before.started_at + 100ms;
  REQUIRE(eventually([&] { return system_time() > last + 1s; }));
  r.world.sleep();
  r.world.database().write([&](db::Tx& tx) {
    // It may be later by now.
    tx.execute("DELETE FROM meter_watch");
    metering::set_watched_until(tx, last);
  });
  REQUIRE(r.cluster.remove("pods", namespace_of(r.pod), name_of(r.pod)));
  REQUIRE(r.is_gone());
  r.world.wake();
  REQUIRE(has_ended(r.world, r.run));
  const Interval ended = *interval(r.world, r.run);
  CHECK(ended.ending == Ending::vanished);
  CHECK(*ended.ended_at == last);
  CHECK(eventually([&] { return open_runs(r.world, r.id) == 1; }));
}

// A recorder of the test's own beside that of the world, which sleeps.
struct Recording {
  explicit Recording(Running& r)
      : client(config_of(r.cluster)),
        cache(client, manifests::selector(r.world.settings()),
              {.deployment_changed = [](const std::string&, const Object&) {},
               .app_changed = [](const std::string&) {},
               .connected = [] {}}),
        recorder(r.world.database(), cache, registry) {
    cache.start();
    REQUIRE(eventually([&] { return cache.synced(); }));
  }
  ~Recording() { cache.stop(); }

  kube::Client client;
  Cache cache;
  prometheus::Registry registry;
  RunRecorder recorder;
};

TEST_CASE("until when pods were followed isn't stored before all that runs was looked at") {
  Running r;
  r.world.sleep();
  r.world.database().write([](db::Tx& tx) { tx.execute("DELETE FROM meter_watch"); });
  Recording recording(r);
  RunRecorder& recorder = recording.recorder;
  const auto row = r.world.row(r.id);
  const auto look = [&](const std::string& id, const deployments::Deployment* deployment) {
    r.world.database().read([&](db::Tx& tx) {
      recorder.look(tx, id, deployment);
      return true;
    });
  };
  look("another", nullptr);
  recorder.keep_watch(true);
  CHECK(watched_until(r.world) == Instant());
  look(r.id, &row);
  CHECK_FALSE(recorder.news(r.id));
  recorder.keep_watch(false);  // another process leads
  CHECK(watched_until(r.world) == Instant());
  recorder.keep_watch(true);
  CHECK(watched_until(r.world) > Instant());

  // Another process may have led in the meantime.
  r.world.database().write([](db::Tx& tx) { tx.execute("DELETE FROM meter_watch"); });
  recorder.begin_to_lead();
  recorder.keep_watch(true);
  CHECK(watched_until(r.world) == Instant());
  look(r.id, &row);
  CHECK_FALSE(recorder.news(r.id));

  // A pod that has left is kept until it is recorded, and only what is new is recorded.
  Object gone = with_end(r.pod);
  gone["metadata"]["uid"] = "another-pod";
  recorder.left(gone, system_time());
  const auto news = recorder.news(r.id);
  REQUIRE(news);
  CHECK(news->runs.size() == 2);
  const auto done =
      r.world.database().write([&](db::Tx& tx) { return RunRecorder::record(tx, *news); });
  CHECK(done.opened == 1);
  CHECK(done.closed == 1);
  CHECK(done.vanished == 0);
  recorder.recorded(*news, done);
  CHECK_FALSE(recorder.news(r.id));
  CHECK(interval(r.world, "another-pod/0")->ended_at);
}

TEST_CASE("the end of a pod that leaves while an earlier look is recorded isn't lost") {
  Running r;
  r.world.sleep();
  Recording recording(r);
  RunRecorder& recorder = recording.recorder;
  const auto row = r.world.row(r.id);
  r.world.database().read([&](db::Tx& tx) {
    recorder.look(tx, r.id, &row);
    return true;
  });
  const auto record = [&](const RunRecorder::News& news) {
    return r.world.database().write([&](db::Tx& tx) { return RunRecorder::record(tx, news); });
  };
  Object another = with_end(r.pod);
  another["metadata"]["uid"] = "another-pod";
  recorder.left(another, system_time());
  const auto first = recorder.news(r.id);
  REQUIRE(first);
  const auto opened = record(*first);
  recorder.left(with_end(r.pod), system_time());  // the store has it as it was before
  recorder.recorded(*first, opened);
  REQUIRE(open_runs(r.world, r.id) == 1);

  const auto second = recorder.news(r.id);
  REQUIRE(second);
  const auto closed = record(*second);
  CHECK(closed.closed == 1);
  CHECK(closed.vanished == 0);
  recorder.recorded(*second, closed);
  CHECK(interval(r.world, r.run)->ending == Ending::finished);
  CHECK(open_runs(r.world, r.id) == 0);
}

TEST_CASE("a container that crashes twice before it is looked at has two runs with their ends") {
  Running r;
  r.world.sleep();
  Recording recording(r);
  RunRecorder& recorder = recording.recorder;
  const auto row = r.world.row(r.id);
  r.world.database().read([&](db::Tx& tx) {
    recorder.look(tx, r.id, &row);
    return true;
  });
  REQUIRE_FALSE(recorder.news(r.id));
  // The store has the pod as it was; its events say more.
  const Object crashed = with_end(r.pod);
  Object again = crashed;
  Object& status = again["status"]["containerStatuses"][0];
  Object ended = status["state"]["terminated"];
  status["restartCount"] = 1;
  status["containerID"] = ended["containerID"] = "containerd://1";
  status["lastState"] = {{"terminated", ended}};
  status["state"] = {{"waiting", {{"reason", "CrashLoopBackOff"}}}};
  for (int repeated = 0; repeated < 3; ++repeated)
    for (const Object& event : {crashed, again}) recorder.changed(event);
  const auto news = recorder.news(r.id);
  REQUIRE(news);
  CHECK(news->runs.size() == 2);
  const auto done =
      r.world.database().write([&](db::Tx& tx) { return RunRecorder::record(tx, *news); });
  CHECK(done.opened == 1);
  CHECK(done.closed == 2);
  CHECK(done.vanished == 0);
  CHECK(done.missed == 0);
  recorder.recorded(*news, done);
  CHECK(interval(r.world, r.run)->ending == Ending::finished);
  CHECK(interval(r.world, uid_of(r.pod) + "/1")->ending == Ending::finished);
}

TEST_CASE("a run that was closed by a process that no longer leads is opened again") {
  Running r;
  r.world.database().write([&](db::Tx& tx) {
    tx.execute(R"(UPDATE meter_intervals SET ended_at = started_at, ending = 'vanished')");
  });
  REQUIRE(open_runs(r.world, r.id) == 0);
  r.world.engine().look_at_all();
  CHECK(eventually([&] { return open_runs(r.world, r.id) == 1; }));
}

TEST_CASE("a deployment without a price by the hour needs no statement for that") {
  embedded::Cluster cluster{quick()};
  World world(config_of(cluster));
  const auto row = world.row(world.deploy(world.new_app()));
  kube::Client client(config_of(cluster));
  const Cache cache(client, manifests::selector(world.settings()),
                    {.deployment_changed = [](const std::string&, const Object&) {},
                     .app_changed = [](const std::string&) {},
                     .connected = [] {}});
  prometheus::Registry registry;
  RunRecorder recorder(world.database(), cache, registry);
  const auto look = [&] {
    world.database().read([&](db::Tx& tx) {
      recorder.look(tx, row.id, &row);
      return true;
    });
  };
  look();
  world.database().write([](db::Tx& tx) {
    tx.execute("ALTER TABLE tier_prices RENAME TO tier_prices_aside");
    tx.execute("ALTER TABLE meter_intervals RENAME TO meter_intervals_aside");
  });
  CHECK_NOTHROW(look());
  CHECK_FALSE(recorder.news(row.id));
}

TEST_CASE("a run of a deployment that is removed already is closed by the next start") {
  Running r;
  r.world.sleep();
  // As if berthd had been killed after the removal, and before the last end was recorded.
  r.world.destroy(r.id);
  r.world.database().write([&](db::Tx& tx) { deployments::mark_removed(tx, r.id); });
  REQUIRE(r.cluster.remove("namespaces", "", namespace_of(r.pod)));
  REQUIRE(r.is_gone());
  REQUIRE(open_runs(r.world, r.id) == 1);
  r.world.wake();
  REQUIRE(has_ended(r.world, r.run));
  CHECK(interval(r.world, r.run)->ending == Ending::vanished);
}

TEST_CASE("a pod that is deleted by force vanishes, and costs nothing from then on") {
  Running r;
  const Instant before = system_time();
  httplib::Client client(r.cluster.url());
  const auto answer =
      client.Delete("/api/v1/namespaces/" + namespace_of(r.pod) + "/pods/" + name_of(r.pod),
                    R"({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})",
                    "application/json");
  REQUIRE(answer);
  REQUIRE(answer->status == 200);
  REQUIRE(has_ended(r.world, r.run));
  const Interval ended = *interval(r.world, r.run);
  CHECK(ended.ending == Ending::vanished);
  CHECK(*ended.ended_at >= std::chrono::floor<std::chrono::seconds>(before));
  CHECK(*ended.ended_at <= std::max(system_time(), ended.started_at));
}
