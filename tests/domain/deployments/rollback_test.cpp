// The log's entries about rollouts, and returning to an earlier rollout.
#include "controller/domain/deployments/rollback.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "controller/domain/deployments/revisions.h"
#include "tests/domain/deployments/custom_domains/custom_domains_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::Change;
using deployments::ContainerSpec;
using deployments::Deployment;
using deployments::Observation;
using deployments::Reason;
using deployments::Status;
using nlohmann::json;

const std::string digest_1 = "@sha256:" + std::string(64, '1');
const std::string digest_2 = "@sha256:" + std::string(64, '2');

struct Fixture : DomainWorld {
  Deployment row = deploy(adas, [] {
    auto wanted = order();
    wanted.secrets.env = {{"COLOR", "blue"}};
    wanted.container.health_path = "/health";
    wanted.secrets.registry_credentials = {.username = "robot", .password = "s3cret"};
    return wanted;
  }());

  Deployment now() { return find_deployment(row.id); }
  void runs(const std::string& digest = "") {
    Observation seen;
    seen.status = Status::running;
    if (!digest.empty()) seen.image_digest = "ghcr.io/acme/web" + digest;
    record(row.id, now().generation, seen);
  }
  void fails() {
    Observation seen;
    seen.status = Status::running;
    seen.reason = Reason::rollout_failed;
    seen.cause = Reason::crash_loop;
    record(row.id, now().generation, seen);
  }
  void patch(const std::string& image, const std::string& color = "blue") {
    Change wanted;
    wanted.set(&ContainerSpec::image, image);
    wanted.env = {{"COLOR", color}};
    change(adas, row.id, wanted);
  }
  Deployment roll_back(const std::optional<std::string>& to_log_id = {}) {
    return write([&](db::Tx& tx) {
      return deployments::rollback(tx, actor(adas), row.id, to_log_id, rules, keys.data);
    });
  }
  std::string refused(const std::optional<std::string>& to_log_id = {}) {
    return refusal([&] { roll_back(to_log_id); });
  }
  deployments::DesiredState state() {
    return *read([&](db::Tx& tx) { return deployments::desired_state(tx, row.id, keys.data); });
  }
  deployments::LogEntry last() { return logs(row.id).back(); }
  json details() { return json::parse(*last().details); }
  std::int64_t kept() {
    return read([&](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM deployment_revisions WHERE deployment_id = $1",
                       row.id);
    });
  }
};

TEST_CASE("the end of a rollout is logged with who began it, what ran and how long it took") {
  Fixture f;
  f.clock.advance(2500ms);
  f.runs(digest_1);
  CHECK(f.last().status == deployments::LogStatus::succeeded);
  CHECK(f.last().initiated_by == f.ada.id);
  CHECK(f.details() == json{{"generation", 1},
                            {"kind", "create"},
                            {"image", "ghcr.io/acme/web:1"},
                            {"image_digest", "ghcr.io/acme/web" + digest_1},
                            {"duration_seconds", 2.5}});
  f.restart(f.adas, f.row.id);
  CHECK(f.last().action == deployments::LogAction::restart);
  CHECK(f.details()["generation"] == 2);
  f.clock.advance(1s);
  f.runs(digest_1);
  CHECK(f.details()["kind"] == "restart");
  CHECK(f.details()["duration_seconds"] == 1.0);
  f.patch("ghcr.io/acme/web:2");
  CHECK(f.details()["kind"] == "patch");
  f.clock.advance(10s);
  f.fails();
  CHECK(f.last().status == deployments::LogStatus::failed);
  CHECK(f.last().initiated_by == f.ada.id);
  CHECK(f.details()["kind"] == "patch");
  CHECK(f.details()["duration_seconds"] == 10.0);
  CHECK(f.details()["cause"] == "crash_loop");
}

TEST_CASE("what happens to a container after it ran isn't part of a rollout") {
  Fixture f;
  f.runs();
  Observation crashed;
  crashed.status = Status::errored;
  crashed.reason = Reason::crash_loop;
  f.record(f.row.id, 1, crashed);
  CHECK_FALSE(f.last().initiated_by);
  CHECK_FALSE(f.details().contains("duration_seconds"));
  CHECK_FALSE(f.details().contains("kind"));
  f.runs();
  CHECK_FALSE(f.last().initiated_by);
}

TEST_CASE("a rollback restores image, variables, port, health path and credentials") {
  Fixture f;
  f.runs(digest_1);
  Change other;
  other.set(&ContainerSpec::image, "ghcr.io/acme/web:2");
  other.set(&ContainerSpec::port, 8080);
  other.env = {{"COLOR", "red"}, {"NEW", "1"}};
  other.set(&ContainerSpec::health_path, "");
  other.registry_credentials.emplace(std::nullopt);
  f.change(f.adas, f.row.id, other);
  f.runs(digest_2);
  const auto back = f.roll_back();
  CHECK(back.container.image == "ghcr.io/acme/web:1" + digest_1);
  CHECK(back.container.port == 3000);
  CHECK(back.container.health_path == "/health");
  CHECK(back.env_keys == std::vector<std::string>{"COLOR"});
  CHECK(f.state().secrets.env == std::map<std::string, std::string>{{"COLOR", "blue"}});
  CHECK(f.state().secrets.registry_credentials->password == "s3cret");
  CHECK(back.status == Status::deploying);
  CHECK(back.generation == 3);
  CHECK(f.last().action == deployments::LogAction::deploy);
  CHECK(f.last().status == deployments::LogStatus::started);
  CHECK(f.last().initiated_by == f.ada.id);
  CHECK(f.details()["kind"] == "rollback");
  CHECK(f.details()["to_generation"] == 1);
  f.runs(digest_1);
  CHECK(f.details()["kind"] == "rollback");
}

TEST_CASE("a failed rollout is rolled back to what serves") {
  Fixture f;
  f.runs(digest_1);
  f.patch("ghcr.io/acme/web:broken");
  f.fails();
  CHECK(f.roll_back().container.image == "ghcr.io/acme/web:1" + digest_1);
  CHECK_FALSE(f.now().reason);
}

TEST_CASE("a rollback can be rolled back, and the custom domain stays") {
  Fixture f;
  f.runs(digest_1);
  f.patch("ghcr.io/acme/web:2");
  f.runs(digest_2);
  f.point(f.adas, f.row.id, "www.example.com");
  CHECK(f.roll_back().custom_domain == "www.example.com");
  f.runs(digest_1);
  CHECK(f.roll_back().container.image == "ghcr.io/acme/web:2" + digest_2);
}

TEST_CASE("a restart of the same isn't a target of a rollback, unless there is nothing else") {
  Fixture f;
  f.runs(digest_1);
  f.patch("ghcr.io/acme/web:2");
  f.runs(digest_2);
  f.restart(f.adas, f.row.id);
  f.runs(digest_2);
  CHECK(f.roll_back().container.image == "ghcr.io/acme/web:1" + digest_1);
  Fixture g;
  g.runs();
  g.restart(g.adas, g.row.id);
  g.runs();
  const auto before = g.now();
  const auto back = g.roll_back();
  CHECK(back.container.image == before.container.image);
  CHECK(back.rollout == before.rollout + 1);  // the container is replaced although nothing differs
}

TEST_CASE("a restart that pulled another image under the same tag can be undone") {
  Fixture f;
  f.runs(digest_1);
  f.restart(f.adas, f.row.id);
  f.runs(digest_2);
  CHECK(f.roll_back().container.image == "ghcr.io/acme/web:1" + digest_1);
}

TEST_CASE("a rollback can name any entry of a rollout that ran") {
  Fixture f;
  const std::string created = f.last().id;
  f.runs(digest_1);
  const std::string ran = f.last().id;
  f.patch("ghcr.io/acme/web:2");
  const std::string patched = f.last().id;
  f.fails();
  const std::string failed = f.last().id;
  f.stop(f.adas, f.row.id);
  const std::string stopped = f.last().id;
  f.patch("ghcr.io/acme/web:3");
  CHECK(f.refused("01936f5e-7c1a-7000-8000-000000000006") == "404 log_entry_not_found");
  CHECK(f.refused(patched) == "409 invalid_state");
  CHECK(f.refused(failed) == "409 invalid_state");
  CHECK(f.refused(stopped) == "409 invalid_state");
  CHECK(f.refused(f.last().id) == "409 invalid_state");
  CHECK(f.roll_back(ran).container.image == "ghcr.io/acme/web:1" + digest_1);
  CHECK(f.details()["to_log_id"] == ran);
  CHECK(f.roll_back(created).container.image == "ghcr.io/acme/web:1" + digest_1);
  // An entry of another deployment doesn't belong to this one.
  const auto other = f.deploy(f.adas, order("other"));
  CHECK(f.refused(f.logs(other.id).back().id) == "404 log_entry_not_found");
}

TEST_CASE("a rollback to what is deployed is refused") {
  Fixture f;
  CHECK(f.refused() == "409 invalid_state");
  f.runs();
  CHECK(f.refused() == "409 invalid_state");
  CHECK(f.refused(f.last().id) == "409 invalid_state");
  CHECK(f.now().generation == 1);
}

TEST_CASE("who may roll back, and when") {
  Fixture f;
  f.runs(digest_1);
  f.patch("ghcr.io/acme/web:2");
  f.runs(digest_2);
  const auto by = [&](const apps::App& app) {
    return refusal([&] {
      f.write([&](db::Tx& tx) {
        return deployments::rollback(tx, f.actor(app), f.row.id, {}, f.rules, f.keys.data);
      });
    });
  };
  CHECK(by(f.eves) == "403 forbidden");
  f.rules.registries = {"docker.io/library"};
  CHECK(f.refused() == "422 unsupported_registry");
  f.rules.registries = {"ghcr.io"};
  f.write([&](db::Tx& tx) { tx.execute("UPDATE deployments SET suspended_at = 1"); });
  CHECK(f.refused() == "403 deployment_suspended");
  f.write([&](db::Tx& tx) { tx.execute("UPDATE deployments SET suspended_at = NULL"); });
  f.stop(f.adas, f.row.id);
  CHECK(f.roll_back().status == Status::stopped);
  CHECK(f.last().status == deployments::LogStatus::succeeded);
  f.destroy(f.adas, f.row.id);
  CHECK(f.refused() == "422 deployment_destroyed");
  CHECK(f.kept() == 0);
}

TEST_CASE("the number of revisions is limited, and failed ones don't displace good ones") {
  Fixture f;
  f.runs();
  const std::string first = f.last().id;
  for (int i = 0; i < 3 * deployments::max_revisions; ++i) {
    f.patch("ghcr.io/acme/web:broken" + std::to_string(i));
    f.fails();
  }
  CHECK(f.kept() == 2);
  CHECK(f.roll_back(first).container.image == "ghcr.io/acme/web:1");
  for (int i = 0; i < 2 * deployments::max_revisions; ++i) {
    f.patch("ghcr.io/acme/web:good" + std::to_string(i));
    f.runs();
  }
  CHECK(f.kept() == deployments::max_revisions);
  CHECK(f.refused(first) == "409 invalid_state");
}

TEST_CASE("an image is pinned to a digest of its own repository") {
  const auto pinned = [](const std::string& image, const std::string& id) {
    return deployments::pinned(image, id);
  };
  CHECK(pinned("ghcr.io/a/web:1", "ghcr.io/a/web" + digest_1) == "ghcr.io/a/web:1" + digest_1);
  CHECK(pinned("ghcr.io/a/web", "ghcr.io/a/web" + digest_1) == "ghcr.io/a/web" + digest_1);
  CHECK(pinned("127.0.0.1:5000/web:1", "127.0.0.1:5000/web" + digest_1) ==
        "127.0.0.1:5000/web:1" + digest_1);
  CHECK(pinned("ghcr.io/a/web:1", "docker-pullable://ghcr.io/a/web" + digest_1) ==
        "ghcr.io/a/web:1" + digest_1);
  const std::string fixed = "ghcr.io/a/web" + digest_2;
  CHECK(pinned(fixed, "ghcr.io/a/web" + digest_1) == fixed);
  CHECK(pinned("ghcr.io/a/web:1", "ghcr.io/a/other" + digest_1) == "ghcr.io/a/web:1");
  CHECK(pinned("ghcr.io/a/web:1", "sha256:" + std::string(64, '1')) == "ghcr.io/a/web:1");
  CHECK(pinned("ghcr.io/a/web:1", "ghcr.io/a/web@sha256:12") == "ghcr.io/a/web:1");
  CHECK(deployments::pinned("ghcr.io/a/web:1", std::nullopt) == "ghcr.io/a/web:1");
  const std::string longest = "ghcr.io/" + std::string(deployments::max_image_length - 20, 'a');
  CHECK(pinned(longest, longest + digest_1) == longest);
}

}  // namespace
