#include "reconcilers/cluster/leader.h"

#include <array>
#include <catch2/catch.hpp>
#include <random>

#include "controller/base/crypto.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Reason;
using deployments::Status;
using nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

namespace {

// As short as a Lease allows, which has whole seconds.
constexpr Leader::Options short_lease = {.lease_duration = std::chrono::seconds(3),
                                         .renew_deadline = std::chrono::seconds(2),
                                         .retry_period = std::chrono::milliseconds(200)};

// No test waits for this one to expire.
constexpr Leader::Options long_lease = {.lease_duration = std::chrono::minutes(10),
                                        .renew_deadline = std::chrono::minutes(5),
                                        .retry_period = std::chrono::milliseconds(200)};

const std::string name_space = "default";

std::string new_name() { return "berth-test-" + hex(random_bytes(6)); }

struct Candidate {
  Candidate(const kube::Kubeconfig& cluster, const std::string& name,
            Leader::Options options = short_lease)
      : leader(
            cluster, name_space, name, [this] { ++times; }, *registry, options) {}
  bool leads() const { return leader.write_time().has_value(); }
  bool comes_to_lead() const {
    return eventually([&] { return leads(); });
  }
  // Returns the value that Prometheus would read.
  double gauge() const {
    for (const auto& family : registry->Collect())
      if (family.name == "leader_election_master_status") return family.metric.at(0).gauge.value;
    return -1;
  }

  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  std::atomic<int> times = 0;
  Leader leader;
};

json held_by(const std::string& name, const std::string& holder) {
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", {{"name", name}, {"namespace", name_space}}},
          {"spec",
           {{"holderIdentity", holder},
            {"leaseDurationSeconds", 3},
            {"acquireTime", "2020-01-01T00:00:00.000000Z"},
            {"renewTime", "2020-01-01T00:00:00.000000Z"},
            {"leaseTransitions", 4}}}};
}

// A Lease of the test's own, which is deleted at its end.
struct Lease {
  kube::Client client;
  const std::string name = new_name();

  explicit Lease(const kube::Kubeconfig& cluster) : client(cluster) {}
  ~Lease() {
    try {
      client.remove(kube::leases, name_space, name);
    } catch (const kube::ApiError&) {
      // A test's simulated cluster may be down, and ends with the test.
    }
  }
  json spec() { return client.get(kube::leases, name_space, name).value().at("spec"); }
};

}  // namespace

TEST_CASE("of two candidates one leads, and the other takes over at once when it ends", "[real]") {
  const TestCluster cluster;
  Lease lease(cluster.config());
  auto first = std::make_unique<Candidate>(cluster.config(), lease.name, long_lease);
  Candidate second(cluster.config(), lease.name, long_lease);
  first->leader.start();
  REQUIRE(first->comes_to_lead());
  second.leader.start();
  const std::string holder = first->leader.identity();
  REQUIRE(eventually([&] { return second.leader.state().holder == holder; }));
  CHECK(first->gauge() == 1);
  CHECK(second.gauge() == 0);
  CHECK(lease.spec().at("holderIdentity") == holder);
  CHECK(lease.spec().at("leaseDurationSeconds") == 600);
  const json began = lease.spec();
  REQUIRE(eventually([&] { return lease.spec().at("renewTime") > began.at("renewTime"); }));
  CHECK(lease.spec().at("acquireTime") == began.at("acquireTime"));
  CHECK_FALSE(second.leads());

  first->leader.stop();
  CHECK_FALSE(first->leads());
  CHECK(first->gauge() == 0);
  REQUIRE(second.comes_to_lead());
  CHECK(lease.spec().at("holderIdentity") == second.leader.identity());
  CHECK(lease.spec().at("leaseTransitions") == 1);
  CHECK(eventually([&] { return second.times == 1; }));
}

TEST_CASE("a silent holder is waited for, whatever its clock says", "[real]") {
  const TestCluster cluster;
  Lease lease(cluster.config());
  lease.client.create(held_by(lease.name, "somebody who is dead"));
  Candidate candidate(cluster.config(), lease.name);
  const auto start = SteadyClock::now();
  candidate.leader.start();
  REQUIRE(eventually([&] { return !candidate.leader.state().holder.empty(); }));
  CHECK_FALSE(candidate.leads());
  REQUIRE(candidate.comes_to_lead());
  CHECK(SteadyClock::now() - start >= std::chrono::seconds(3));
  CHECK(lease.spec().at("leaseTransitions") == 5);
}

TEST_CASE("a Lease that an admin gives to somebody else, or deletes", "[real]") {
  const TestCluster cluster;
  Lease lease(cluster.config());
  Candidate candidate(cluster.config(), lease.name);
  candidate.leader.start();
  REQUIRE(candidate.comes_to_lead());
  SECTION("given away") {
    lease.client.apply(held_by(lease.name, "an admin's choice"));
    CHECK(eventually([&] { return !candidate.leads(); }));
    CHECK(eventually([&] { return candidate.gauge() == 0; }));
    CHECK(candidate.comes_to_lead());  // because the present holder never renews
    CHECK(eventually([&] { return candidate.times == 2; }));
  }
  SECTION("deleted") {
    lease.client.remove(kube::leases, name_space, lease.name);
    CHECK(eventually([&] {
      return lease.client.get(kube::leases, name_space, lease.name) && candidate.leads();
    }));
    CHECK(candidate.times == 1);
  }
}

TEST_CASE("if the API server stops answering, leading ends before the Lease expires") {
  embedded::Cluster cluster(quick());
  const std::string name = new_name();
  Candidate candidate(config_of(cluster), name);
  candidate.leader.start();
  REQUIRE(candidate.comes_to_lead());
  // A write that begins now must end before another process may begin one.
  const auto time = candidate.leader.write_time();
  REQUIRE(time);
  CHECK(*time <= short_lease.lease_duration - short_lease.retry_period);
  const bool silent = GENERATE(false, true);
  if (silent)
    cluster.stop_answering();
  else
    cluster.go_down();
  const auto start = SteadyClock::now();
  auto led_at = start;
  REQUIRE(eventually([&] {
    const auto asked_at = SteadyClock::now();
    const bool leads = candidate.leads();
    if (leads) led_at = asked_at;
    return !leads;
  }));
  CHECK(led_at - start <= short_lease.renew_deadline);
  CHECK(eventually([&] { return candidate.gauge() == 0; }));
  CHECK_FALSE(candidate.leader.state().last_error.empty());
  if (silent)
    cluster.answer_again();
  else
    cluster.come_back();
  CHECK(candidate.comes_to_lead());
  CHECK(candidate.leader.state().last_error.empty());
}

TEST_CASE("if the Lease can't be written, leading ends even though it names the holder") {
  embedded::Cluster cluster(quick());
  Candidate candidate(config_of(cluster), new_name());
  candidate.leader.start();
  REQUIRE(candidate.comes_to_lead());
  cluster.fail_next(1'000, 409, std::nullopt, {"update", "leases"});
  CHECK(eventually([&] { return !candidate.leads(); }, std::chrono::seconds(10)));
  CHECK(eventually([&] { return candidate.gauge() == 0; }));
  cluster.clear_failures();
  CHECK(candidate.comes_to_lead());
}

TEST_CASE("there are never two leaders at once, whatever ends, returns or fails") {
  embedded::Cluster cluster(quick());
  const std::string name = new_name();
  std::array<std::unique_ptr<Candidate>, 3> candidates;
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::minstd_rand random(seed);
  std::atomic<bool> over = false;
  constexpr int enough_looks = 100;  // how many times the watcher must see a leader
  std::atomic<int> leaders_seen = 0;
  std::mutex mutex;
  std::atomic<int> doubles = 0;
  std::thread watcher([&] {
    while (!over) {
      {
        const std::lock_guard lock(mutex);
        int leading = 0;
        // A candidate that leads at both the first and the last question has led in between,
        // because nobody becomes leader again so soon.
        for (const auto& one : candidates)
          for (const auto& other : candidates)
            if (one && other && one != other && one->leads() && other->leads() && one->leads())
              ++doubles;
        for (const auto& one : candidates) leading += one && one->leads();
        if (leading == 1) ++leaders_seen;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  // By chance, nobody may have had the time to lead; then the test goes on longer.
  const auto end = SteadyClock::now() + std::chrono::seconds(8);
  const auto limit = end + std::chrono::seconds(60);
  const auto goes_on = [&] {
    return SteadyClock::now() < (leaders_seen > enough_looks ? end : limit);
  };
  while (goes_on()) {
    const size_t i = std::uniform_int_distribution<size_t>(0, 2)(random);
    switch (std::uniform_int_distribution<int>(0, 3)(random)) {
      case 0:
      case 1: {
        auto fresh = std::make_unique<Candidate>(config_of(cluster), name);
        fresh->leader.start();
        const std::lock_guard lock(mutex);
        candidates.at(i).swap(fresh);
        break;
      }
      case 2:
        cluster.fail_next(3, 409, std::nullopt, {"update", "leases"});
        break;
      default:
        cluster.fail_next(6, 503, std::nullopt, {"", "leases"});
        break;
    }
    std::this_thread::sleep_for(
        std::chrono::milliseconds(std::uniform_int_distribution<int>(0, 600)(random)));
  }
  over = true;
  watcher.join();
  CHECK(doubles == 0);
  CHECK(leaders_seen > enough_looks);
}

TEST_CASE("two processes on one instance: only the one that leads writes, and the other takes over",
          "[real]") {
  const TestCluster cluster;
  const std::string instance = "test-" + hex(random_bytes(6));
  const auto prepare = [](World& world) {
    world.lease_namespace = name_space;
    world.options.leader = short_lease;
    world.wake();
  };
  World first(cluster.config(), instance);
  prepare(first);
  const std::string shop = first.deploy(first.new_app());
  REQUIRE(first.is(shop, Status::running));
  World second(cluster.config(), instance);
  prepare(second);
  // A larger one than usual, because its database doesn't know the first one's deployment.
  const std::string other = second.deploy(second.new_app(), {.name = "other"});
  REQUIRE(eventually([&] { return second.engine().cluster_state().synced; }));
  REQUIRE(eventually([&] { return !second.engine().leadership()->holder.empty(); }));
  CHECK_FALSE(second.engine().leadership()->leading);
  CHECK(second.settles());
  CHECK(second.writes() == 0);
  CHECK(second.row(other).status == Status::pending);
  CHECK_FALSE(second.row(other).reason.has_value());
  first.sleep();
  CHECK(second.is(other, Status::running));
  CHECK(second.engine().leadership()->leading);
  CHECK_FALSE(second.objects(kube::services, shop).empty());

  second.destroy(other);
  CHECK(second.is_removed(other));
  second.sleep();
  first.wake();
  first.destroy(shop);
  CHECK(first.is_removed(shop));
  second.client().remove(kube::leases, name_space, "berth-" + instance);
}

TEST_CASE("a leader that lost its cluster says so in the rows, and continues when it is back") {
  embedded::Cluster cluster(quick());
  World world(config_of(cluster));
  world.lease_namespace = name_space;
  world.options.leader = short_lease;
  world.wake();
  const std::string app = world.new_app();
  const std::string old = world.deploy(app, {.name = "old"});
  REQUIRE(world.is(old, Status::running));
  cluster.go_down();
  REQUIRE(eventually([&] { return !world.engine().leadership()->leading; }));
  REQUIRE(eventually([&] { return !world.engine().cluster_state().connected; }));
  const std::string fresh = world.deploy(app, {.name = "fresh"});
  CHECK(eventually([&] { return world.row(fresh).reason == Reason::cluster_unreachable; }));
  CHECK(world.row(old).status == Status::running);
  cluster.come_back();
  CHECK(world.is(fresh, Status::running));
  CHECK_FALSE(world.row(fresh).reason.has_value());
}

TEST_CASE("a write without enough time isn't sent") {
  embedded::Cluster cluster(quick());
  kube::ClientOptions options;
  std::optional<std::chrono::milliseconds> time;
  options.write_time = [&] { return time; };
  kube::Client client(config_of(cluster), options);
  const std::string name = new_name();
  CHECK_THROWS_AS(client.create(held_by(name, "a")), kube::Fenced);
  CHECK_FALSE(client.get(kube::leases, name_space, name));
  time = std::chrono::milliseconds(10'000);
  client.create(held_by(name, "a"));
  time.reset();
  CHECK_THROWS_AS(client.apply(held_by(name, "b")), kube::Fenced);
  CHECK_THROWS_AS(client.remove(kube::leases, name_space, name), kube::Fenced);
  CHECK(client.get(kube::leases, name_space, name).value().at("spec").at("holderIdentity") == "a");
  time = std::chrono::milliseconds(300);
  cluster.stop_answering();
  const auto start = SteadyClock::now();
  CHECK_THROWS_AS(client.apply(held_by(name, "b")), kube::ApiError);
  CHECK(SteadyClock::now() - start < std::chrono::seconds(5));
}
