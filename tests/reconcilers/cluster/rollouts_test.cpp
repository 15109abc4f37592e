#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "controller/domain/deployments/container.h"
#include "controller/domain/deployments/rollback.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Reason;
using deployments::Status;
using nlohmann::json;

// Rollouts as a deployment's owner sees them: forwards, backwards, the deployment's health and
// usage.

namespace {

// The same key as in tests/reconcilers/cluster/world.cpp.
const std::string data_key(32, 'k');
const deployments::Rules rules = {.registries = {"ghcr.io", "docker.io/library"},
                                  .apps_domain = "apps.example",
                                  .base_host = "berth.example"};

struct Tenant {
  embedded::Cluster cluster;
  World world{config_of(cluster)};
  std::string id;

  explicit Tenant(const embedded::Options& options = quick()) : cluster(options) {
    world.wake();
    id = world.deploy(world.new_app());
    REQUIRE(world.is(id, Status::running));
  }

  deployments::Actor owner() {
    const std::string app = world.row(id).app_id;
    return {app, app, "request-9"};
  }
  void patch(const std::string& image) {
    const auto actor = owner();
    deployments::Change change;
    change.set(&deployments::ContainerSpec::image, image);
    world.database().write(
        [&](db::Tx& tx) { deployments::change(tx, actor, id, change, rules, data_key); });
  }
  void roll_back() {
    const auto actor = owner();
    world.database().write(
        [&](db::Tx& tx) { deployments::rollback(tx, actor, id, {}, rules, data_key); });
  }
  bool runs_image(const std::string& start) {
    return eventually([&] {
      const auto row = world.row(id);
      return row.status == Status::running && !row.reason &&
             world
                 .object(kube::deployments,
                         id)["spec"]["template"]["spec"]["containers"][0]["image"]
                 .get<std::string>()
                 .starts_with(start);
    });
  }
  json last_entry() {
    const auto logs =
        world.database().read([&](db::Tx& tx) { return deployments::newest_logs(tx, id); });
    return json::parse(logs.back().details.value());
  }
};

std::string pod_name(World& world, const std::string& id) {
  return name_of(world.object(kube::pods, id));
}

}  // namespace

TEST_CASE("a failing change is rolled back to the digest that ran, and the page is always served") {
  Tenant tenant;
  const std::string digest = tenant.world.row(tenant.id).image_digest.value();
  const std::string hash = digest.substr(digest.find('@'));
  tenant.patch("ghcr.io/acme/crash:1");
  CHECK(eventually([&] {
    const auto row = tenant.world.row(tenant.id);
    return row.status == Status::running && row.reason == Reason::rollout_failed &&
           row.cause == Reason::crash_loop && row.message;
  }));
  CHECK(tenant.cluster.page("shop.apps.example").status == 200);
  CHECK(tenant.last_entry()["reason"] == "rollout_failed");
  CHECK(tenant.last_entry()["serving_image_digest"] == digest);
  CHECK_FALSE(tenant.last_entry().contains("image_digest"));
  tenant.roll_back();
  CHECK(tenant.runs_image("ghcr.io/acme/web:1" + hash));
  CHECK(tenant.world.row(tenant.id).image_digest == digest);
  CHECK(tenant.last_entry()["kind"] == "rollback");
  CHECK(tenant.last_entry()["duration_seconds"].is_number());
  CHECK(tenant.last_entry()["image_digest"] == digest);
}

TEST_CASE("each field of a container is rolled out, and taken back") {
  Tenant tenant;
  const auto original = tenant.world.row(tenant.id).container;
  const auto spec = [&] {
    return tenant.world.object(kube::deployments, tenant.id)["spec"]["template"]["spec"];
  };
  const Object before = spec();
  const auto change = [&](const deployments::ContainerField& field, const json& value) {
    deployments::Change wanted;
    wanted.fields = {&field};
    set_value(wanted.container, field, value);
    const auto actor = tenant.owner();
    tenant.world.database().write(
        [&](db::Tx& tx) { deployments::change(tx, actor, tenant.id, wanted, rules, data_key); });
  };
  for (const auto& field : deployments::container_fields) {
    if (!field.replaces_container || field.is_structure()) continue;  // see processes_test.cpp
    INFO(field.name);
    change(field, json::parse(field.in_change.example));
    CHECK(eventually(
        [&] { return spec() != before && tenant.world.row(tenant.id).status == Status::running; }));
    change(field, value_of(original, field));
    CHECK(eventually(
        [&] { return spec() == before && tenant.world.row(tenant.id).status == Status::running; }));
  }
}

TEST_CASE("the old container serves until the new one has been ready for a moment") {
  Tenant tenant;
  const Object spec = tenant.world.object(kube::deployments, tenant.id)["spec"];
  CHECK(spec["strategy"]["rollingUpdate"] == json{{"maxSurge", "25%"}, {"maxUnavailable", 0}});
  CHECK(spec["minReadySeconds"] > 0);
  const json pod = spec["template"]["spec"];
  const int drain = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"];
  CHECK(drain > 2);  // Traefik's providersThrottleDuration
  CHECK(pod["terminationGracePeriodSeconds"] >= drain + 10);
  CHECK(pod["containers"][0]["readinessProbe"]["periodSeconds"] == probe_period.count());
}

// The controller ends unavailable pods first, and a pod isn't available before minReadySeconds are
// over.
TEST_CASE("quick successive changes don't end a container that has just started serving") {
  embedded::Options options = quick();
  options.timing.second = std::chrono::milliseconds(500);  // minReadySeconds: 1.5 s
  options.timing.probe = std::chrono::milliseconds(500);   // until the new pod serves
  Tenant tenant(options);
  const auto pods = [&] { return tenant.world.objects(kube::pods, tenant.id).size(); };
  for (const char* image : {"ghcr.io/acme/web:2", "ghcr.io/acme/web:3"}) {
    tenant.patch(image);
    REQUIRE(eventually([&] { return pods() > 1; }));
  }
  int gone = 0;
  REQUIRE(eventually([&] {
    gone += tenant.cluster.page("shop.apps.example").status == 200 ? 0 : 1;
    const auto row = tenant.world.row(tenant.id);
    return row.status == Status::running && row.container.image == "ghcr.io/acme/web:3" &&
           pods() == 1;
  }));
  CHECK(gone == 0);
}

TEST_CASE("health is the probe's present result, without a write") {
  Tenant tenant;
  REQUIRE(tenant.world.settles());
  const auto health = tenant.world.engine().health(tenant.id);
  REQUIRE(health);
  CHECK(health->ready);
  CHECK(health->age < Duration(probe_period));
  const auto writes = tenant.world.database().writes();
  for (int i = 0; i < 100; ++i) tenant.world.engine().health(tenant.id);
  CHECK(tenant.world.database().writes() == writes);
  CHECK_FALSE(tenant.world.engine().health("unknown"));

  tenant.cluster.pause_controllers();
  const json unready = {{"type", "Ready"}, {"status", "False"}};
  tenant.cluster.patch_status("pods", namespace_of(tenant.world.object(kube::pods, tenant.id)),
                              pod_name(tenant.world, tenant.id),
                              {{"conditions", json::array({unready})}});
  CHECK(eventually([&] {
    const auto now = tenant.world.engine().health(tenant.id);
    return now && !now->ready;
  }));
  tenant.cluster.resume_controllers();
}

TEST_CASE("health gets older while the cluster is silent") {
  Tenant tenant;
  tenant.cluster.go_down();
  CHECK(eventually([&] {
    const auto health = tenant.world.engine().health(tenant.id);
    return health && health->ready && health->age > Duration(probe_period);
  }));
}

TEST_CASE("CPU and memory come from the cluster's metrics, restarts from its pods") {
  Tenant tenant;
  const auto row = tenant.world.row(tenant.id);
  const Usage usage = tenant.world.engine().usage(row);
  CHECK(usage.cpu_millicores.value() >= 1);
  CHECK(usage.memory_bytes.value() >= 16 << 20);
  CHECK(usage.restarts == 0);
  CHECK_FALSE(usage.requests);  // Traefik's metrics aren't configured
  tenant.world.stop(tenant.id);
  REQUIRE(eventually([&] { return tenant.world.objects(kube::pods, tenant.id).empty(); }));
  CHECK(eventually([&] { return !tenant.world.engine().usage(row).cpu_millicores; }));
}

TEST_CASE("a cluster with missing or slow metrics gives fewer numbers, in time") {
  Tenant tenant;
  const auto row = tenant.world.row(tenant.id);
  const int status = GENERATE(404, 503);
  tenant.cluster.fail_next(1, status, std::nullopt, {"raw", ""});
  const Usage usage = tenant.world.engine().usage(row);
  CHECK_FALSE(usage.cpu_millicores);
  CHECK_FALSE(usage.memory_bytes);
  CHECK(usage.restarts == 0);
  tenant.cluster.stop_answering();
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(tenant.world.engine().usage(row).cpu_millicores);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  tenant.cluster.answer_again();
}

TEST_CASE("the measured use of all containers is added up") {
  Usage usage;
  add_measured(usage, json::parse(R"({"items": [
      {"containers": [{"name": "app", "usage": {"cpu": "1600000n", "memory": "2Ki"}}]},
      {"containers": [{"name": "app", "usage": {"cpu": "2m", "memory": "1024"}}]}]})"));
  CHECK(usage.cpu_millicores == 4);
  CHECK(usage.memory_bytes == 3072);
  Usage unknown;
  add_measured(unknown, json::parse(R"({"items": []})"));
  add_measured(unknown, nullptr);
  CHECK_FALSE(unknown.cpu_millicores);
}

TEST_CASE("Traefik's requests are counted by service") {
  const auto requests = traefik_requests(
      "# TYPE traefik_service_requests_total counter\n"
      "traefik_service_requests_total{code=\"200\",method=\"GET\",protocol=\"http\","
      "service=\"ns-shop-http@kubernetes\"} 41\n"
      "traefik_service_requests_total{code=\"404\",method=\"GET\",protocol=\"http\","
      "service=\"ns-shop-http@kubernetes\"} 1\n"
      "traefik_service_requests_total{code=\"200\",method=\"GET\",protocol=\"http\","
      "service=\"ns-other-http@kubernetes\"} 1.5e+06\n"
      "traefik_service_requests_bytes_total{service=\"ns-shop-http@kubernetes\"} 77\n"
      "traefik_service_requests_total{service=\"broken");
  CHECK(requests.size() == 2);
  CHECK(requests.at("ns-shop-http@kubernetes") == 42);
  CHECK(requests.at("ns-other-http@kubernetes") == 1'500'000);
  TraefikMetrics nowhere({.traefik_url = "http://127.0.0.1:9/metrics"});
  CHECK_FALSE(nowhere.requests("ns", "shop", "http"));
  CHECK_FALSE(TraefikMetrics(RequestCounts()).requests("ns", "shop", "http"));
}
