#include <catch2/catch.hpp>

#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Reason;
using deployments::Status;
using nlohmann::json;

// Failures of the API server, of the connection to it, and of berth itself.

namespace {

// The verb by which berth makes an object of a kind. Secrets aren't in the cache, and what an app's
// deployments share is soon changed, so both are applied.
std::string written_first_by(const std::string& plural) {
  const bool of_deployment =
      plural == "services" || plural == "deployments" || plural == "ingresses";
  return of_deployment ? "create" : "apply";
}

struct Faulty {
  embedded::Cluster cluster{quick()};
  World world{config_of(cluster)};

  std::string running_deployment() {
    const std::string id = world.deploy(world.new_app());
    REQUIRE(world.is(id, Status::running));
    REQUIRE(world.settles());
    return id;
  }

  // Whether the engine still receives changes.
  bool repairs(const std::string& id) {
    const Object service = world.object(kube::services, id);
    cluster.remove("services", namespace_of(service), name_of(service));
    return eventually([&] { return !world.objects(kube::services, id).empty(); });
  }
};

}  // namespace

TEST_CASE("watches that break, or whose history is lost, are resumed without a write") {
  Faulty faulty;
  faulty.world.wake();
  const std::string id = faulty.running_deployment();
  const size_t lists = faulty.cluster.count("list", "services");
  const int before = faulty.world.writes();
  SECTION("broken off") { faulty.cluster.drop_watches(); }
  SECTION("compacted") {
    faulty.cluster.compact();
    CHECK(eventually([&] { return faulty.cluster.count("list", "services") > lists; }));
  }
  REQUIRE(faulty.world.settles());
  CHECK(faulty.world.writes() == before);
  CHECK(faulty.repairs(id));
  CHECK(eventually([&] { return faulty.world.engine().cluster_state().connected; }));
}

TEST_CASE("a list finds a change from a time without a watch") {
  Faulty faulty;
  faulty.world.wake();
  const std::string id = faulty.running_deployment();
  faulty.cluster.go_down();
  const Object service = faulty.cluster.list("services", "", "berth/deployment=" + id).at(0);
  faulty.cluster.remove("services", namespace_of(service), name_of(service));
  faulty.cluster.compact();
  faulty.cluster.come_back();
  CHECK(eventually(
      [&] { return !faulty.cluster.list("services", "", "berth/deployment=" + id).empty(); }));
}

TEST_CASE("with a cluster that is down, new deployments say so and old ones stay as they are") {
  Faulty faulty;
  faulty.world.wake();
  const std::string old = faulty.running_deployment();
  faulty.cluster.go_down();
  CHECK(eventually([&] { return !faulty.world.engine().cluster_state().connected; }));
  CHECK_FALSE(faulty.world.engine().cluster_state().last_error.empty());
  const std::string fresh = faulty.world.deploy(faulty.world.new_app(), {.name = "fresh"});
  CHECK(eventually([&] { return faulty.world.row(fresh).reason == Reason::cluster_unreachable; }));
  CHECK(faulty.world.row(fresh).status == Status::pending);
  CHECK(faulty.world.row(old).status == Status::running);
  CHECK_FALSE(faulty.world.row(old).reason.has_value());
  const auto commits = faulty.world.database().commits();
  for (int i = 0; i < 20; ++i) faulty.world.engine().enqueue(fresh);
  REQUIRE(faulty.world.settles());
  CHECK(faulty.world.database().commits() == commits);
  faulty.cluster.come_back();
  CHECK(faulty.world.is(fresh, Status::running));
  CHECK_FALSE(faulty.world.row(fresh).reason.has_value());
  CHECK(eventually([&] { return faulty.world.engine().cluster_state().connected; }));
}

TEST_CASE("a cluster that is down at the start") {
  Faulty faulty;
  faulty.cluster.go_down();
  faulty.world.wake();
  const std::string id = faulty.world.deploy(faulty.world.new_app());
  CHECK(eventually([&] { return faulty.world.row(id).reason == Reason::cluster_unreachable; }));
  CHECK_FALSE(faulty.world.engine().cluster_state().synced);
  faulty.cluster.come_back();
  CHECK(faulty.world.is(id, Status::running));
  CHECK(faulty.world.engine().cluster_state().synced);
}

TEST_CASE("a cluster that accepts requests and never answers") {
  Faulty faulty;
  faulty.world.wake();
  faulty.running_deployment();
  faulty.cluster.stop_answering();
  const std::string fresh = faulty.world.deploy(faulty.world.new_app(), {.name = "fresh"});
  CHECK(eventually([&] { return faulty.world.row(fresh).reason == Reason::cluster_unreachable; }));
  faulty.cluster.answer_again();
  CHECK(faulty.world.is(fresh, Status::running));
}

TEST_CASE("an API server that is busy or failing is tried again") {
  Faulty faulty;
  const int status = GENERATE(429, 500, 503, 409);
  faulty.cluster.fail_next(8, status, std::nullopt, {"apply", ""});
  faulty.cluster.fail_next(4, status, std::nullopt, {"create", ""});
  faulty.cluster.fail_next(3, status, std::nullopt, {"list", ""});
  faulty.world.wake();
  const std::string id = faulty.world.deploy(faulty.world.new_app());
  CHECK(faulty.world.is(id, Status::running));
  faulty.cluster.fail_next(5, status, std::nullopt, {"delete", ""});
  faulty.cluster.fail_next(3, status, std::nullopt, {"watch", ""});
  faulty.cluster.drop_watches();
  faulty.world.destroy(id);
  CHECK(faulty.world.is_removed(id));
}

TEST_CASE("an API server's Retry-After is respected") {
  Faulty faulty;
  faulty.world.wake();
  REQUIRE(faulty.world.settles());
  faulty.cluster.fail_next(5, 429, 1,
                           {"create", "deployments"});  // more often than the client itself tries
  const std::string id = faulty.world.deploy(faulty.world.new_app());
  CHECK(faulty.world.is(id, Status::running));
}

TEST_CASE("if an engine dies between two steps, another one finishes them") {
  const std::string plural = GENERATE(as<std::string>{}, "namespaces", "resourcequotas", "secrets",
                                      "services", "deployments", "ingresses");
  Faulty faulty;
  const std::string app = faulty.world.new_app();
  const std::string id = faulty.world.deploy(app);
  const auto dies_at = [&](const std::string& verb) {
    faulty.cluster.forget_requests();
    faulty.cluster.fail_next(100'000, 500, std::nullopt, {verb, plural});
    faulty.world.wake();
    CHECK(eventually([&] { return faulty.cluster.count(verb, plural) > 0; }));
    faulty.world.sleep();
    faulty.cluster.clear_failures();
  };
  dies_at(written_first_by(plural));
  faulty.world.wake();
  REQUIRE(faulty.world.is(id, Status::running));
  faulty.world.sleep();
  faulty.world.destroy(id);
  if (plural != "resourcequotas") dies_at("delete");
  faulty.world.wake();
  REQUIRE(faulty.world.is_removed(id));
  for (const char* kind :
       {"secrets", "services", "deployments", "replicasets", "pods", "ingresses"})
    CHECK(faulty.cluster.list(kind, manifests::namespace_of(app)).empty());
  CHECK_FALSE(faulty.cluster.get("namespaces", "", manifests::namespace_of(app)).has_value());
}

TEST_CASE("fighting over a field costs few writes") {
  Faulty faulty;
  faulty.world.wake();
  const std::string id = faulty.running_deployment();
  const Object service = faulty.world.object(kube::services, id);
  const int before = faulty.world.writes();
  for (int i = 0; i < 40; ++i) {
    faulty.cluster.patch(
        "services", namespace_of(service), name_of(service),
        {{"metadata", {{"labels", {{"berth/app", "theirs-" + std::to_string(i)}}}}}});
    faulty.world.settles();
    if (faulty.world.writes() - before >= RepairBudget::most) break;
  }
  faulty.cluster.patch("services", namespace_of(service), name_of(service),
                       {{"metadata", {{"labels", {{"berth/app", "theirs"}}}}}});
  REQUIRE(faulty.world.settles());
  CHECK(faulty.world.writes() - before <= RepairBudget::most + 1);
}

TEST_CASE("many deployments start at the same time, with each object written once") {
  constexpr int apps = 8, each = 4;
  Faulty faulty;
  faulty.cluster.set_latency(std::chrono::milliseconds(5));
  faulty.world.wake();
  std::vector<std::string> ids;
  for (int i = 0; i < apps; ++i) {
    const std::string app = faulty.world.new_app();
    for (int j = 0; j < each; ++j)
      ids.push_back(faulty.world.deploy(
          app, {.name = "shop-" + std::to_string(i) + "-" + std::to_string(j)}));
  }
  for (const auto& id : ids) CHECK(faulty.world.is(id, Status::running));
  REQUIRE(faulty.world.settles());
  for (const char* plural : {"deployments", "services", "secrets", "ingresses"})
    CHECK(faulty.cluster.count(written_first_by(plural), plural) == apps * each);
  CHECK(faulty.cluster.count("apply", "namespaces") == apps);
  for (const auto& id : ids) faulty.world.destroy(id);
  for (const auto& id : ids) CHECK(faulty.world.is_removed(id));
  CHECK(faulty.world.objects(kube::namespaces).empty());
}

TEST_CASE("an engine that can't reach anybody stops quickly") {
  Faulty faulty;
  faulty.cluster.go_down();
  faulty.world.wake();
  faulty.world.deploy(faulty.world.new_app());
  const auto start = std::chrono::steady_clock::now();
  faulty.world.sleep();
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("Secrets are written and deleted by their names, and never read") {
  Faulty faulty;
  faulty.world.wake();
  const std::string app = faulty.world.new_app();
  const std::string id = faulty.world.deploy(
      app, {.registry_credentials = deployments::RegistryCredentials{"robot", "secret"}});
  const std::string other = faulty.world.deploy(app, {.name = "other"});
  REQUIRE(faulty.world.is(id, Status::running));
  REQUIRE(faulty.world.is(other, Status::running));
  faulty.world.destroy(id);
  REQUIRE(faulty.world.is_removed(id));
  for (const char* verb : {"get", "list", "watch"})
    CHECK(faulty.cluster.count(verb, "secrets") == 0);
  CHECK(faulty.cluster.count("apply", "secrets") == 3);
  // The app's other deployment keeps its own.
  CHECK(faulty.cluster.list("secrets", manifests::namespace_of(app)).size() == 1);
}

TEST_CASE("a Secret that somebody deleted is there again after a restart") {
  Faulty faulty;
  faulty.world.wake();
  const std::string id = faulty.running_deployment();
  const Object secret = faulty.world.object(kube::secrets, id);
  faulty.cluster.remove("secrets", namespace_of(secret), name_of(secret));
  faulty.world.restart(id);
  CHECK(faulty.world.is(id, Status::running));
  CHECK(faulty.world.objects(kube::secrets, id).size() == 1);
}

TEST_CASE("what a refused rollout has written into the Secret doesn't stay") {
  Faulty faulty;
  faulty.world.wake();
  const std::string id = faulty.running_deployment();
  const auto has_color = [&] {
    return faulty.world.object(kube::secrets, id).value("data", json::object()).contains("COLOR");
  };
  REQUIRE(has_color());
  faulty.cluster.fail_next(1'000'000, 403, std::nullopt, {"apply", "deployments"});
  faulty.world.set(id, "COLOR", std::nullopt);
  REQUIRE(eventually([&] { return !has_color(); }));
  REQUIRE(eventually([&] { return faulty.world.row(id).reason.has_value(); }));
  // The Deployment on the cluster is what is wanted again, and its containers need the variable.
  faulty.world.set(id, "COLOR", "blue");
  CHECK(eventually(has_color));
  faulty.cluster.clear_failures();
  faulty.world.restart(id);
  CHECK(faulty.world.is(id, Status::running));
  CHECK(has_color());
}

TEST_CASE("a restart of a deployment without Secrets writes nothing about them") {
  Faulty faulty;
  faulty.world.wake();
  const std::string id = faulty.world.deploy(faulty.world.new_app(), {.env = {}});
  REQUIRE(faulty.world.is(id, Status::running));
  REQUIRE(faulty.world.settles());
  const auto restart = [&] {
    const std::string before = uid_of(faulty.world.object(kube::pods, id));
    faulty.world.restart(id);
    REQUIRE(eventually([&] {
      const auto pods = faulty.world.objects(kube::pods, id);
      return pods.size() == 1 && uid_of(pods[0]) != before;
    }));
    REQUIRE(faulty.world.is(id, Status::running));
    return faulty.cluster.count("patch", "deployments");
  };
  // The first one takes over the fields of the object that was created.
  const size_t patched = restart();
  CHECK(restart() == patched);
  CHECK(faulty.cluster.count("apply", "secrets") == 0);
}

TEST_CASE("berthd binds its rights before it uses them, and waits for them to take effect") {
  Faulty faulty;
  faulty.world.settings().tenant_role = {
      .role = "berth-tenant", .account_namespace = "berth", .account = "berth"};
  faulty.world.wake();
  const std::string app = faulty.world.new_app();
  SECTION("a refusal of the first moments isn't told to the operator") {
    faulty.cluster.fail_next(4, 403, std::nullopt, {"apply", "resourcequotas"});
    const std::string id = faulty.world.deploy(app);
    CHECK(eventually([&] {
      CHECK_FALSE(faulty.world.row(id).reason);
      return faulty.world.row(id).status == Status::running;
    }));
  }
  SECTION("an app that was made before the rights were bound gets them when it leaves") {
    faulty.world.sleep();
    faulty.world.settings().tenant_role.reset();
    faulty.world.wake();
    const std::string id = faulty.world.deploy(app);
    REQUIRE(faulty.world.is(id, Status::running));
    faulty.world.sleep();
    faulty.world.settings().tenant_role = {
        .role = "berth-tenant", .account_namespace = "berth", .account = "berth"};
    faulty.world.destroy(id);
    faulty.world.wake();
    REQUIRE(faulty.world.is_removed(id));
    // Once, or once more where the removal was tried again.
    CHECK(faulty.cluster.count("apply", "rolebindings") >= 1);
  }
}

TEST_CASE("another confinement of the tier reaches its deployments") {
  Faulty faulty;
  faulty.world.wake();
  const std::string id = faulty.running_deployment();
  CHECK(faulty.world.objects(kube::network_policies, id).empty());
  faulty.world.confine(
      {.runtime_class = "gvisor", .user_namespaces = true, .smtp = true, .bandwidth = {}});
  CHECK(eventually([&] {
    return faulty.world.object(kube::deployments, id)["spec"]["template"]["spec"].value(
               "runtimeClassName", "") == "gvisor";
  }));
  CHECK(eventually([&] { return faulty.world.objects(kube::network_policies, id).size() == 1; }));
  faulty.world.confine({});
  CHECK(eventually([&] { return faulty.world.objects(kube::network_policies, id).empty(); }));
  REQUIRE(faulty.world.is(id, Status::running));
  faulty.world.confine(
      {.runtime_class = {}, .user_namespaces = false, .smtp = true, .bandwidth = {}});
  CHECK(eventually([&] { return faulty.world.objects(kube::network_policies, id).size() == 1; }));
  faulty.world.destroy(id);
  CHECK(faulty.world.is_removed(id));
}
