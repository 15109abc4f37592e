#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "controller/domain/deployments/runs/runs.h"
#include "reconcilers/cluster/instances.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Reason;
using deployments::Status;

// Runs on a cluster: commands that somebody runs once, and release commands.

namespace {

// The same key as in tests/reconcilers/cluster/world.cpp.
const std::string data_key(32, 'k');

struct Tenant {
  embedded::Cluster cluster;
  World world{config_of(cluster)};
  std::string app;
  std::string id;

  explicit Tenant(const Wanted& wanted = {}) : cluster(quick()) {
    world.wake();
    app = world.new_app();
    id = world.deploy(app, wanted);
  }

  deployments::Actor owner() const { return {app, app, "request-9"}; }
  std::string run(const deployments::Texts& command,
                  std::chrono::seconds timeout = runs::default_timeout) {
    const runs::Order order{.command = command, .timeout = timeout};
    return world.database().write(
        [&](db::Tx& tx) { return runs::create(tx, owner(), id, order).id; });
  }
  runs::Run row(const std::string& run_id) {
    return world.database().read([&](db::Tx& tx) { return runs::find(tx, run_id).value(); });
  }
  bool ends(const std::string& run_id, runs::Status status) {
    return eventually([&] { return runs::is_over(row(run_id).status); }) &&
           row(run_id).status == status;
  }
  bool is_running(const std::string& run_id) {
    return eventually([&] { return row(run_id).status == runs::Status::running; });
  }
  std::string log(const std::string& run_id) {
    const auto kept = world.database().read([&](db::Tx& tx) { return runs::log_of(tx, run_id); });
    return kept ? kept->lines : "";
  }
  void cancel(const std::string& run_id) {
    world.database().write([&](db::Tx& tx) { runs::cancel(tx, owner(), id, run_id); });
  }
  // Whether nothing of the runs is left on the cluster.
  bool is_clean() {
    return eventually([&] {
      return world.objects(kube::jobs, id).empty() && pods_of_runs().empty() &&
             world.objects(kube::secrets, id).size() <= 1;
    });
  }
  std::vector<Object> pods_of_runs() {
    std::vector<Object> pods = world.objects(kube::pods, id);
    std::erase_if(pods, [](const Object& pod) { return !is_of_run(pod); });
    return pods;
  }
  void change(const deployments::Change& wanted) {
    world.database().write(
        [&](db::Tx& tx) { deployments::change(tx, owner(), id, wanted, world.rules, data_key); });
  }
  void set_release_command(const deployments::Texts& command, const std::string& image) {
    deployments::Change wanted;
    wanted.set(&deployments::ContainerSpec::release_command, command);
    wanted.set(&deployments::ContainerSpec::image, image);
    wanted.env["COLOR"] = "red";
    change(wanted);
  }
  std::string color() {
    const auto secret =
        world.client().get(kube::secrets, manifests::namespace_of(app), manifests::object_name(id));
    return secret ? (*secret)["data"]["COLOR"].get<std::string>() : "";
  }
};

const std::string blue = "Ymx1ZQ==";
const std::string red = "cmVk";

}  // namespace

TEST_CASE("a run ends with its command's exit code, its log is kept, and nothing is left of it") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  const std::string good = tenant.run({"sh", "-c", "echo done at last"});
  REQUIRE(tenant.ends(good, runs::Status::succeeded));
  CHECK(tenant.row(good).exit_code == 0);
  CHECK(tenant.row(good).started_at);
  CHECK(tenant.row(good).image_digest.value_or("").find("@sha256:") != std::string::npos);
  CHECK(tenant.log(good).ends_with("\tdone at last\n"));

  const std::string bad = tenant.run({"sh", "-c", "echo no such table; exit 3"});
  REQUIRE(tenant.ends(bad, runs::Status::failed));
  CHECK(tenant.row(bad).exit_code == 3);
  CHECK(tenant.row(bad).reason == runs::Reason::command_failed);
  CHECK(tenant.row(bad).message == "no such table");
  CHECK(tenant.is_clean());
  CHECK(tenant.cluster.count("create", "jobs") == 2);
  CHECK(tenant.color() == blue);
}

TEST_CASE("a command that runs goes on while the API server doesn't name its Job") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  const std::string run = tenant.run({"sleep", "10000"});
  REQUIRE(tenant.is_running(run));
  tenant.world.sleep();
  tenant.world.database().write([&](db::Tx& tx) {
    constexpr std::int64_t half_an_hour = 30 * 60 * 1000;
    tx.execute("UPDATE deployment_runs SET inserted_at = inserted_at - $2 WHERE id = $1", run,
               half_an_hour);
  });
  tenant.cluster.fail_next(1'000'000, 403, std::nullopt, {"list", "jobs"});
  const size_t asked = tenant.cluster.count("list", "jobs");
  tenant.world.wake();
  REQUIRE(eventually([&] { return tenant.cluster.count("list", "jobs") > asked; }));
  REQUIRE(tenant.world.settles());
  CHECK(tenant.row(run).status == runs::Status::running);
}

TEST_CASE("a run isn't one of the deployment's own containers") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  const std::string run = tenant.run({"sleep", "10000"});
  REQUIRE(tenant.is_running(run));
  CHECK(tenant.world.settles());
  const auto row = tenant.world.row(tenant.id);
  CHECK(row.status == Status::running);
  CHECK(!row.reason);
  CHECK(instances_of(tenant.world.engine().cache(), tenant.id).size() == 1);
  CHECK(tenant.pods_of_runs().size() == 1);
  CHECK(tenant.cluster.page("shop.apps.example").status == 200);
  // Not even when a restart replaces what belongs to the deployment.
  tenant.world.restart(tenant.id);
  CHECK(tenant.world.is(tenant.id, Status::running));
  CHECK(tenant.world.settles());
  CHECK(tenant.row(run).status == runs::Status::running);
}

TEST_CASE("a run that is cancelled ends, and its log is kept") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  const std::string run = tenant.run({"sh", "-c", "echo begun; sleep 10000"});
  REQUIRE(tenant.is_running(run));
  tenant.cancel(run);
  CHECK(tenant.row(run).status == runs::Status::cancelled);
  CHECK(tenant.is_clean());
  CHECK(tenant.log(run).ends_with("\tbegun\n"));
}

TEST_CASE("a run that takes longer than its timeout is ended") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  const std::string run =
      tenant.run({"sh", "-c", "echo begun; sleep 10000"}, std::chrono::seconds(20));
  REQUIRE(tenant.ends(run, runs::Status::failed));
  CHECK(tenant.row(run).reason == runs::Reason::timed_out);
  CHECK(tenant.log(run).ends_with("\tbegun\n"));
  CHECK(tenant.is_clean());
}

TEST_CASE("a run whose image is gone fails with the registry's words") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  tenant.world.sleep();
  const std::string run = tenant.run({"true"});
  tenant.cluster.set_image(tenant.row(run).image, embedded::ImageBehaviour::missing);
  tenant.world.wake();
  REQUIRE(tenant.ends(run, runs::Status::failed));
  CHECK(tenant.row(run).reason == runs::Reason::image_pull_failed);
  CHECK(tenant.row(run).message.value_or("").find("not found") != std::string::npos);
  CHECK(tenant.is_clean());
}

TEST_CASE("a run goes on while berthd is down, and what it became is recorded afterwards") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  const std::string run = tenant.run({"sh", "-c", "sleep 50; exit 7"});
  REQUIRE(tenant.is_running(run));
  tenant.world.sleep();
  REQUIRE(eventually([&] {
    const auto pods = tenant.pods_of_runs();
    return pods.size() == 1 && pods[0]["status"]["phase"] == "Failed";
  }));
  CHECK(tenant.row(run).status == runs::Status::running);
  tenant.world.wake();
  REQUIRE(tenant.ends(run, runs::Status::failed));
  CHECK(tenant.row(run).exit_code == 7);
  CHECK(tenant.is_clean());
}

TEST_CASE("a run whose Job couldn't be started yet is started once, by whoever goes on") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  // The Job is made, and then everything fails.
  tenant.cluster.fail_next(1'000'000, 500, std::nullopt, {"patch", "jobs"});
  const std::string run = tenant.run({"sleep", "1"});
  REQUIRE(eventually([&] { return tenant.row(run).made_at.has_value(); }));
  CHECK(tenant.world.objects(kube::jobs, tenant.id).size() == 1);
  CHECK(tenant.pods_of_runs().empty());
  tenant.world.sleep();
  tenant.cluster.clear_failures();
  tenant.world.wake();
  REQUIRE(tenant.ends(run, runs::Status::succeeded));
  CHECK(tenant.cluster.count("create", "jobs") == 1);
}

TEST_CASE("a run that was made before berthd could say so isn't made again") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  tenant.cluster.fail_next(1'000'000, 500, std::nullopt, {"patch", "jobs"});
  const std::string run = tenant.run({"sleep", "1"});
  REQUIRE(eventually([&] { return tenant.row(run).made_at.has_value(); }));
  tenant.world.sleep();
  // As after a kill between the Job and the row.
  tenant.world.database().write([&](db::Tx& tx) {
    tx.execute("UPDATE deployment_runs SET made_at = NULL WHERE id = $1", run);
  });
  tenant.cluster.clear_failures();
  tenant.world.wake();
  REQUIRE(tenant.ends(run, runs::Status::succeeded));
  CHECK(tenant.cluster.count("create", "jobs") == 1);
}

TEST_CASE("a run whose variables the cluster refuses for long has failed, and leaves nothing") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  tenant.cluster.fail_next(1'000'000, 403, std::nullopt, {"apply", "secrets"});
  const std::string run = tenant.run({"sleep", "1"});
  REQUIRE(eventually([&] { return tenant.row(run).made_at.has_value(); }));
  CHECK_FALSE(runs::is_over(tenant.row(run).status));
  tenant.world.database().write([&](db::Tx& tx) {
    tx.execute("UPDATE deployment_runs SET made_at = $2 WHERE id = $1", run,
               tx.now() - std::chrono::minutes(11));
  });
  tenant.world.engine().enqueue_run(run);
  REQUIRE(tenant.ends(run, runs::Status::failed));
  CHECK(tenant.row(run).reason == runs::Reason::not_started);
  CHECK(tenant.is_clean());
}

TEST_CASE("a run whose Job or pod somebody deletes is lost, and never starts again") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  const std::string first = tenant.run({"sleep", "10000"});
  REQUIRE(tenant.is_running(first));
  const Object job = tenant.world.object(kube::jobs, tenant.id);
  tenant.world.client().remove(kube::jobs, namespace_of(job), name_of(job));
  REQUIRE(tenant.ends(first, runs::Status::failed));
  CHECK(tenant.row(first).reason == runs::Reason::lost);
  REQUIRE(tenant.is_clean());

  const std::string second = tenant.run({"sleep", "10000"});
  REQUIRE(tenant.is_running(second));
  const Object pod = tenant.pods_of_runs().at(0);
  tenant.world.client().remove(kube::pods, namespace_of(pod), name_of(pod));
  REQUIRE(tenant.ends(second, runs::Status::failed));
  CHECK(tenant.row(second).reason == runs::Reason::lost);
  CHECK(tenant.is_clean());
  CHECK(tenant.cluster.count("create", "jobs") == 2);
}

TEST_CASE("a run whose Job somebody suspends is lost, and never starts again") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  const std::string run = tenant.run({"sleep", "10000"});
  REQUIRE(tenant.is_running(run));
  const Object job = tenant.world.object(kube::jobs, tenant.id);
  tenant.world.client().merge(
      {{"apiVersion", kube::jobs.api_version},
       {"kind", kube::jobs.kind},
       {"metadata", {{"name", name_of(job)}, {"namespace", namespace_of(job)}}},
       {"spec", {{"suspend", true}}}});
  REQUIRE(tenant.ends(run, runs::Status::failed));
  CHECK(tenant.row(run).reason == runs::Reason::lost);
  CHECK(tenant.is_clean());
}

TEST_CASE("a deployment that is deleted takes its runs with it") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  const std::string run = tenant.run({"sleep", "10000"});
  REQUIRE(tenant.is_running(run));
  tenant.world.destroy(tenant.id);
  CHECK(tenant.world.is_removed(tenant.id));
  CHECK(tenant.world.objects(kube::jobs, tenant.id).empty());
  CHECK(tenant.world.objects(kube::pods, tenant.id).empty());
}

TEST_CASE("the first rollout begins when its release command has succeeded") {
  Tenant tenant({.release_command = {"sleep", "30"}});
  REQUIRE(eventually([&] { return tenant.world.row(tenant.id).phase == "releasing"; }));
  CHECK(tenant.world.row(tenant.id).status == Status::pending);
  CHECK(tenant.world.objects(kube::deployments, tenant.id).empty());
  CHECK(tenant.color().empty());
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  CHECK(tenant.color() == blue);
  CHECK(tenant.is_clean());
  CHECK(tenant.cluster.count("create", "jobs") == 1);
}

TEST_CASE("a release command that fails leaves the old version serving, with its variables") {
  Tenant tenant;
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  const Object before = tenant.world.object(kube::deployments, tenant.id);
  tenant.set_release_command({"sh", "-c", "echo no such table; exit 1"}, "ghcr.io/acme/web:2");
  REQUIRE(eventually([&] { return tenant.world.row(tenant.id).reason == Reason::release_failed; }));
  const auto row = tenant.world.row(tenant.id);
  CHECK(row.status == Status::running);
  CHECK(row.health_status == deployments::HealthStatus::healthy);
  CHECK(row.message.value_or("").find("no such table") != std::string::npos);
  CHECK(tenant.world.settles());
  CHECK(tenant.world.object(kube::deployments, tenant.id)["spec"] == before["spec"]);
  CHECK(tenant.color() == blue);
  CHECK(tenant.cluster.page("shop.apps.example").status == 200);
  CHECK(tenant.cluster.count("create", "jobs") == 1);

  // What leads to the old version is repaired.
  const Object service = tenant.world.object(kube::services, tenant.id);
  tenant.world.client().remove(kube::services, namespace_of(service), name_of(service));
  CHECK(eventually([&] {
    const Object now = tenant.world.object(kube::services, tenant.id);
    return !now.is_null() && uid_of(now) != uid_of(service);
  }));
  CHECK(tenant.world.object(kube::deployments, tenant.id)["spec"] == before["spec"]);

  // More of its containers are added.
  deployments::Change more;
  more.set(&deployments::ContainerSpec::replicas, 2);
  tenant.change(more);
  CHECK(eventually(
      [&] { return tenant.world.object(kube::deployments, tenant.id)["spec"]["replicas"] == 2; }));
  CHECK(tenant.world.object(kube::deployments, tenant.id)["spec"]["template"] ==
        before["spec"]["template"]);
  CHECK(tenant.cluster.count("create", "jobs") == 1);

  // The next change has a release of its own.
  tenant.set_release_command({"true"}, "ghcr.io/acme/web:3");
  REQUIRE(eventually([&] {
    const auto now = tenant.world.row(tenant.id);
    return now.status == Status::running && !now.reason;
  }));
  CHECK(tenant.color() == red);
  CHECK(tenant.cluster.count("create", "jobs") == 2);
}

TEST_CASE("a first release command that fails leaves nothing but its log") {
  Tenant tenant({.release_command = {"sh", "-c", "echo no database; exit 1"}});
  REQUIRE(tenant.world.is(tenant.id, Status::errored));
  CHECK(tenant.world.row(tenant.id).reason == Reason::release_failed);
  CHECK(tenant.world.objects(kube::deployments, tenant.id).empty());
  CHECK(tenant.is_clean());
}

TEST_CASE("a release command runs once, however often berthd ends meanwhile") {
  Tenant tenant({.release_command = {"sleep", "60"}});
  for (int end = 0; end < 4; ++end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    tenant.world.sleep();
    tenant.world.wake();
  }
  REQUIRE(tenant.world.is(tenant.id, Status::running));
  CHECK(tenant.cluster.count("create", "jobs") == 1);
}
