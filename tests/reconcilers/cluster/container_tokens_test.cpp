// By which token a container proves which deployment it is of.
#include "reconcilers/cluster/container_tokens.h"

#include <catch2/catch.hpp>
#include <thread>

#include "controller/base/error.h"
#include "controller/base/jws.h"
#include "controller/domain/deployments/container.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Status;
using nlohmann::json;

namespace {

const std::string app = "01936f5e-7c1a-7000-8000-0000000000aa";
const std::string deployment = "01936f5e-7c1a-7000-8000-0000000000dd";

std::string token_of(const json& claims) {
  return jws::sign(std::string(jws::seed_bytes, 's'), "JWT", claims);
}
std::string token_about(const std::string& subject) { return token_of({{"sub", subject}}); }
std::string own_token() {
  return token_about("system:serviceaccount:berth-app-" + app + ":berth-" + deployment);
}

std::optional<Code> refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.code;
  }
  return std::nullopt;
}

void set_identity(World& world, const std::string& id, bool identity) {
  world.change(id, identity ? "identity = 1" : "identity = 0");
}

}  // namespace

TEST_CASE("a token says its deployment, and no other text does") {
  const auto read = ContainerTokens::read(own_token());
  REQUIRE(read);
  CHECK(read->app_id == app);
  CHECK(read->deployment_id == deployment);
  const std::string space = "system:serviceaccount:berth-app-" + app;
  for (const std::string& subject :
       {space + ":tenant", space + ":berth-" + app + "x", space + ":" + deployment,
        space + "x:berth-" + deployment, "system:serviceaccount:other:berth-" + deployment,
        "x" + space + ":berth-" + deployment, space + ":berth-" + deployment + ":x",
        std::string("repo:acme/shop"), std::string()})
    CHECK_FALSE(ContainerTokens::read(token_about(subject)));
  CHECK_FALSE(ContainerTokens::read(token_of(json::object())));
  CHECK_FALSE(ContainerTokens::read(token_of({{"sub", 7}})));
  for (const char* text : {"", "x", "a.b.c", "at_live_x"}) CHECK_FALSE(ContainerTokens::read(text));
}

TEST_CASE("a token is proven if the cluster names the same user") {
  std::optional<std::string> answer;
  ContainerTokens tokens([&](const std::string&) { return answer; });
  CHECK_FALSE(tokens.prove(own_token()));
  answer = "system:serviceaccount:berth-app-" + app + ":tenant";
  CHECK_FALSE(tokens.prove(own_token()));
  answer = "system:serviceaccount:berth-app-" + app + ":berth-" + deployment;
  CHECK(tokens.prove(own_token()));
  CHECK_FALSE(tokens.prove(token_about("somebody")));
  ContainerTokens down([](const std::string&) -> std::optional<std::string> {
    throw kube::ApiError(0, "", "nobody is there");
  });
  CHECK(refusal([&] { down.prove(own_token()); }) == Code::unavailable);
}

TEST_CASE("one network doesn't take all places in which requests wait for the cluster",
          "[pool:token_reviews]") {
  std::atomic<bool> may_end = false;
  ContainerTokens tokens([&](const std::string&) -> std::optional<std::string> {
    may_end.wait(false);
    return std::nullopt;
  });
  const std::string token = own_token();
  const auto prove = [&](const std::string& address) {
    const ClaimantOfThread claimant({.address = address});
    return refusal([&] { tokens.prove(token); });
  };
  const auto used = [] { return figures_of(Pool::token_reviews).used; };
  const std::size_t of_crowd = limits_of(ContainerTokens::max_waiting, false).binds_at;
  {
    std::vector<std::jthread> waiting;
    for (std::size_t i = 0; i < of_crowd; ++i) waiting.emplace_back([&] { prove("192.0.2.1"); });
    while (used() < of_crowd) std::this_thread::yield();
    CHECK(prove("192.0.2.1") == Code::unavailable);
    waiting.emplace_back([&] { prove("198.51.100.1"); });
    while (used() < of_crowd + 1) std::this_thread::yield();
    may_end = true;
    may_end.notify_all();
  }
  CHECK(used() == 0);
}

TEST_CASE(
    "containers get a token with the identity, and the cluster proves it until they are gone") {
  embedded::Cluster cluster(quick());
  World world{config_of(cluster)};
  world.wake();
  const std::string id = world.deploy(world.new_app());
  REQUIRE(world.is(id, Status::running));
  CHECK(world.objects(kube::service_accounts, id).empty());
  const Object before = world.object(kube::deployments, id)["spec"]["template"];

  set_identity(world, id, true);
  REQUIRE(world.is(id, Status::running));
  CHECK(world.objects(kube::service_accounts, id).size() == 1);
  const std::string space = manifests::namespace_of(world.row(id).app_id);
  const auto token = [&]() -> std::string {
    for (const Object& pod : world.objects(kube::pods, id))
      for (const embedded::TokenFile& file : cluster.tokens_of(space, name_of(pod)))
        return file.token;
    return "";
  };
  REQUIRE(eventually([&] { return !token().empty(); }));
  const std::string shown = token();
  const auto read = ContainerTokens::read(shown);
  REQUIRE(read);
  CHECK(read->deployment_id == id);
  CHECK(read->app_id == world.row(id).app_id);
  ContainerTokens tokens(ask_cluster(config_of(cluster), world.settings().token_audience));
  CHECK(tokens.prove(shown));
  ContainerTokens others(ask_cluster(config_of(cluster), "https://other.example"));
  CHECK_FALSE(others.prove(shown));

  // Without it, pods are what they were.
  set_identity(world, id, false);
  CHECK(eventually([&] { return !tokens.prove(shown); }));
  Object after = world.object(kube::deployments, id)["spec"]["template"];
  CHECK(after["spec"] == before["spec"]);
}

TEST_CASE("while a rollout without the identity fails, what serves can be replaced") {
  embedded::Cluster cluster(quick());
  World world{config_of(cluster)};
  world.wake();
  const std::string id = world.deploy(world.new_app());
  set_identity(world, id, true);
  REQUIRE(world.is(id, Status::running));
  const auto running_as = [&](const std::string& account) {
    std::vector<Object> found = world.objects(kube::pods, id);
    std::erase_if(found, [&](const Object& pod) {
      return is_being_deleted(pod) || text_at(pod, {"spec", "serviceAccountName"}) != account;
    });
    return found;
  };
  const std::string own = manifests::object_name(id);
  REQUIRE(eventually([&] { return running_as("tenant").empty() && running_as(own).size() == 1; }));
  world.change(id, "identity = 0, image = 'ghcr.io/acme/crash:1'");
  REQUIRE(eventually([&] { return running_as("tenant").size() == 1; }));
  const Object serves = running_as(own).at(0);
  world.client().remove(kube::pods, namespace_of(serves), name_of(serves), uid_of(serves));
  CHECK(eventually([&] {
    const auto now = running_as(own);
    return now.size() == 1 && uid_of(now.front()) != uid_of(serves);
  }));
  CHECK(world.objects(kube::service_accounts, id).size() == 1);
}

TEST_CASE("a deleted deployment leaves no account") {
  embedded::Cluster cluster(quick());
  World world{config_of(cluster)};
  world.wake();
  const std::string owner = world.new_app();
  const std::string stays = world.deploy(owner, {.name = "stays"});
  const std::string goes = world.deploy(owner, {.name = "goes"});
  REQUIRE(world.is(goes, Status::running));
  set_identity(world, goes, true);
  REQUIRE(eventually([&] { return world.objects(kube::service_accounts, goes).size() == 1; }));
  world.destroy(goes);
  REQUIRE(eventually([&] { return world.is_removed(goes); }));
  CHECK(world.objects(kube::service_accounts, goes).empty());
  CHECK(world.objects(kube::service_accounts).size() == 1);  // tenant
}
