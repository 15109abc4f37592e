#include "reconcilers/cluster/image_check.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <set>

#include "controller/transport/socket.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"
#include "tests/registry/server.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Reason;
using deployments::Status;
using registry::test::layer;
using registry::test::manifest;

namespace {

constexpr std::uint64_t gib = std::uint64_t(1) << 30;

struct Checked {
  registry::test::Server server;
  embedded::Cluster cluster{quick()};
  World world{config_of(cluster)};

  Checked() {
    world.options.images.max_bytes = 10 * gib;
    world.rules.registries = {server.host()};
    world.wake();
  }
  void push(const std::string& tag, std::uint64_t bytes) {
    server.store("acme/web", tag, manifest({layer("a", bytes)}));
  }
  std::string image(const std::string& tag) { return server.host() + "/acme/web:" + tag; }
  std::string deploy(const std::string& tag) {
    return world.deploy(world.new_app(), {.name = "shop-" + tag, .image = image(tag)});
  }
  bool is_refused(const std::string& id) {
    return eventually([&] { return world.row(id).reason == Reason::image_too_large; });
  }
  // How often the registry was asked about the tag.
  auto asked(const std::string& tag) { return std::ranges::count(server.asked(), tag); }
};

}  // namespace

TEST_CASE("an image that is too large is never pulled") {
  Checked checked;
  checked.push("large", 50 * gib);
  const std::string id = checked.deploy("large");
  REQUIRE(checked.is_refused(id));
  CHECK(checked.world.row(id).status == Status::errored);
  CHECK(checked.world.row(id).message ==
        "the image has layers of 50.0 GiB, and 10.0 GiB are allowed; make it smaller and deploy it "
        "again");
  CHECK(checked.world.objects(kube::deployments, id).empty());
  CHECK(checked.world.objects(kube::pods, id).empty());
  // The registry is asked once for each change of the deployment, however often it is looked at.
  checked.world.engine().enqueue(id);
  REQUIRE(checked.world.settles());
  CHECK(checked.asked("large") == 1);
  checked.push("large", 9 * gib);
  checked.world.restart(id);
  CHECK(checked.world.is(id, Status::running));
  CHECK(checked.asked("large") == 2);
}

TEST_CASE("what runs goes on when its next image is too large") {
  Checked checked;
  checked.push("1", gib);
  checked.push("2", 11 * gib);
  const std::string id = checked.deploy("1");
  REQUIRE(checked.world.is(id, Status::running));
  const auto pod = name_of(checked.world.objects(kube::pods, id).at(0));
  checked.world.change(id, "image = '" + checked.image("2") + "'");
  REQUIRE(eventually([&] { return checked.world.row(id).cause == Reason::image_too_large; }));
  CHECK(checked.world.row(id).status == Status::running);
  CHECK(checked.world.row(id).reason == Reason::rollout_failed);
  CHECK(name_of(checked.world.objects(kube::pods, id).at(0)) == pod);
  checked.world.change(id, "image = '" + checked.image("1") + "'");
  CHECK(eventually([&] { return !checked.world.row(id).reason; }));
}

TEST_CASE("a deployment that is started again is asked about again, and one that runs is not") {
  Checked checked;
  checked.push("1", gib);
  const std::string id = checked.deploy("1");
  REQUIRE(checked.world.is(id, Status::running));
  checked.world.sleep();
  checked.world.wake();
  REQUIRE(checked.world.settles());
  CHECK(checked.asked("1") == 1);
  checked.world.stop(id);
  REQUIRE(eventually([&] { return checked.world.objects(kube::pods, id).empty(); }));
  checked.push("1", 11 * gib);
  checked.world.restart(id);
  CHECK(checked.is_refused(id));
  CHECK(checked.asked("1") == 2);
}

TEST_CASE("an image whose registry gives no answer is pulled") {
  Checked checked;
  const std::string unknown = checked.deploy("unknown");
  CHECK(checked.world.is(unknown, Status::running));
}

// How a registry may fail to answer.
struct NoAnswer {
  const char* what;
  int status;
  bool is_asked_again;
};
const NoAnswer no_answers[] = {
    {"too many requests", 429, true}, {"an error", 500, true},         {"a bad gateway", 502, true},
    {"unavailable", 503, true},       {"a time-out", 504, true},       {"a refusal", 403, false},
    {"no such image", 404, false},    {"not implemented", 501, false},
};

TEST_CASE("a registry's failure counts for the image and its credentials alone") {
  for (const NoAnswer& row : no_answers) {
    INFO(row.what);
    Checked checked;
    std::atomic<bool> is_failing = true;
    checked.server.guard([&](const httplib::Request& request, httplib::Response& response) {
      const bool has_password = request.has_header("Authorization");
      if (!is_failing || has_password || !request.path.ends_with("/1")) return true;
      response.status = row.status;
      return false;
    });
    checked.push("1", 11 * gib);
    checked.push("2", 11 * gib);
    const std::string failing = checked.deploy("1");
    const std::string other = checked.deploy("2");
    CHECK(checked.is_refused(other));
    if (row.is_asked_again) {
      // One failure lets nothing through: the registry is asked again.
      is_failing = false;
      CHECK(checked.is_refused(failing));
    } else {
      CHECK(checked.world.is(failing, Status::running));
    }
  }
}

TEST_CASE("where the admin says so, no image of an unknown size is pulled") {
  for (const NoAnswer& row : no_answers) {
    if (row.is_asked_again) continue;  // the same after the pauses, which the case above covers
    INFO(row.what);
    Checked checked;
    checked.world.sleep();
    checked.world.options.images.unknown = UnknownSize::refuse;
    checked.world.wake();
    checked.push("1", gib);
    checked.server.guard([&](const httplib::Request&, httplib::Response& response) {
      response.status = row.status;
      return false;
    });
    const std::string id = checked.deploy("1");
    REQUIRE(eventually([&] { return checked.world.row(id).reason == Reason::image_pull_failed; }));
    CHECK(checked.world.row(id).status == Status::errored);
    CHECK(checked.world.row(id).message ==
          "the registry " + checked.server.host() +
              " doesn't say how large the image is (the registry answered with " +
              std::to_string(row.status) +
              "), and this platform pulls no image of an unknown size");
    CHECK(checked.world.objects(kube::pods, id).empty());
    checked.server.guard({});
    checked.world.restart(id);
    CHECK(checked.world.is(id, Status::running));
  }
}

TEST_CASE("a refusal says by how much, also where the sizes differ by a byte") {
  Checked checked;
  checked.push("over", 10 * gib + 1);
  const std::string id = checked.deploy("over");
  REQUIRE(checked.is_refused(id));
  CHECK(checked.world.row(id).message ==
        "the image has layers of 10737418241 bytes, and 10737418240 bytes are allowed; make it "
        "smaller and deploy it again");
}

TEST_CASE("the registry's password comes from the deployment") {
  Checked checked;
  checked.push("1", 11 * gib);
  checked.server.guard([](const httplib::Request& request, httplib::Response& response) {
    if (request.get_header_value("Authorization") == "Basic YWRhOnNlY3JldA==") return true;
    response.status = 401;
    response.set_header("WWW-Authenticate", "Basic realm=\"Registry\"");
    return false;
  });
  const std::string id = checked.world.deploy(
      checked.world.new_app(), {.image = checked.image("1"),
                                .registry_credentials = deployments::RegistryCredentials{
                                    .username = "ada", .password = "secret"}});
  CHECK(checked.is_refused(id));
}

TEST_CASE("an owner whose registries are silent doesn't hold up others' images",
          "[pool:image_checks]") {
  // They take connections, and never answer.
  const api::Listener silent[] = {api::listen_on("127.0.0.1", 0), api::listen_on("127.0.0.1", 0)};
  registry::test::Server server;
  server.store("acme/web", "1", manifest({layer("a", gib)}));
  std::mutex mutex;
  std::set<std::string> answered;
  prometheus::Registry counters;
  ImageCheck check(
      {.max_bytes = 10 * gib},
      [&](const std::string& id) {
        const std::lock_guard lock(mutex);
        answered.insert(id);
      },
      counters);
  check.start();
  const auto ask = [&](const std::string& id, const std::string& owner, const std::string& host) {
    check.answer({.deployment_id = id,
                  .owner_id = owner,
                  .generation = 1,
                  .image = host + "/acme/web:1",
                  .credentials = {}});
  };
  for (int i = 0; i < 8; ++i)
    ask("d" + std::to_string(i), "mallory", "127.0.0.1:" + std::to_string(silent[i % 2].port));
  ask("good", "ada", server.host());
  CHECK(eventually([&] {
    const std::lock_guard lock(mutex);
    return answered.contains("good");
  }));
  CHECK(answered.size() == 1);
  check.stop();
}
