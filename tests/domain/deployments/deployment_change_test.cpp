// PATCH: changing what is wanted of a deployment.
#include <catch2/catch.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "controller/domain/deployments/container.h"
#include "tests/domain/deployments/custom_domains/custom_domains_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using deployments::Change;
using deployments::ContainerSpec;
using deployments::Status;

struct Fixture : DomainWorld {
  deployments::Deployment row = [this] {
    deployments::Order wanted = order();
    wanted.secrets.env = {{"KEEP", "1"}, {"OLD", "2"}};
    wanted.container.health_path = "/health";
    wanted.secrets.registry_credentials = {.username = "robot", .password = "s3cret"};
    const auto made = deploy(adas, wanted);
    record(made.id, 1,
           {.status = Status::running,
            .phase = "",
            .reason = {},
            .cause = {},
            .message = {},
            .container_id = "c1",
            .image_digest = {},
            .host_server = {},
            .health_status = deployments::HealthStatus::healthy});
    return find_deployment(made.id);
  }();
  std::string refused(const Change& wanted) {
    return refusal([&] { change(adas, row.id, wanted); });
  }
  deployments::DesiredState state() {
    return *read([&](db::Tx& tx) { return deployments::desired_state(tx, row.id, keys.data); });
  }
};

TEST_CASE("changes are rolled out, and fields that aren't sent stay") {
  Fixture f;
  Change wanted;
  wanted.set(&ContainerSpec::image, "ghcr.io/acme/web:2");
  wanted.set(&ContainerSpec::port, 8080);
  wanted.env = {{"NEW", "3"}, {"OLD", std::nullopt}, {"NEVER", std::nullopt}};
  const auto changed = f.change(f.adas, f.row.id, wanted);
  CHECK(changed.container.image == "ghcr.io/acme/web:2");
  CHECK(changed.container.port == 8080);
  CHECK(changed.env_keys == std::vector<std::string>{"KEEP", "NEW"});
  CHECK(changed.container.health_path == "/health");
  CHECK(changed.status == Status::deploying);
  CHECK(changed.generation == f.row.generation + 1);
  CHECK(changed.rollout == f.row.rollout);
  CHECK_FALSE(changed.health_status);
  CHECK(f.state().secrets.env == std::map<std::string, std::string>{{"KEEP", "1"}, {"NEW", "3"}});
  CHECK(f.state().secrets.registry_credentials->password == "s3cret");
  const auto entry = f.logs(f.row.id).back();
  CHECK(entry.action == deployments::LogAction::deploy);
  CHECK(entry.status == deployments::LogStatus::started);
  CHECK(entry.initiated_by == f.ada.id);
  using nlohmann::json;
  const json changes = {
      {{"field", "image"}, {"from", "ghcr.io/acme/web:1"}, {"to", "ghcr.io/acme/web:2"}},
      {{"field", "port"}, {"from", 3000}, {"to", 8080}},
      {{"field", "env_vars"},
       {"added", json::array({"NEW"})},
       {"changed", json::array()},
       {"removed", json::array({"OLD"})}}};
  CHECK(json::parse(*entry.details) == json{{"kind", "patch"},
                                            {"fields", {"image", "port", "env_vars"}},
                                            {"generation", 2},
                                            {"changes", changes}});
}

TEST_CASE("null removes a field") {
  Fixture f;
  Change wanted;
  wanted.set(&ContainerSpec::health_path, "");
  wanted.registry_credentials.emplace(std::nullopt);
  const auto changed = f.change(f.adas, f.row.id, wanted);
  CHECK(changed.container.health_path.empty());
  CHECK_FALSE(f.state().secrets.registry_credentials);
  CHECK(changed.generation == f.row.generation + 1);
}

TEST_CASE("sending the present values changes nothing") {
  Fixture f;
  Change wanted;
  for (const auto& field : deployments::container_fields) wanted.fields.push_back(&field);
  wanted.container = f.row.container;
  wanted.env = {{"KEEP", "1"}};
  wanted.registry_credentials = {{.username = "robot", .password = "s3cret"}};
  wanted.tier = "wide";
  const auto logs = f.logs(f.row.id).size();
  const auto same = f.change(f.adas, f.row.id, wanted);
  CHECK(same.generation == f.row.generation);
  CHECK(same.status == Status::running);
  CHECK(f.logs(f.row.id).size() == logs);
}

TEST_CASE("a stopped deployment stays stopped, and a pending one pending") {
  Fixture f;
  Change wanted;
  wanted.set(&ContainerSpec::port, 8080);
  f.stop(f.adas, f.row.id);
  CHECK(f.change(f.adas, f.row.id, wanted).status == Status::stopped);
  CHECK(f.find_deployment(f.row.id).stopped_at);
  CHECK(f.logs(f.row.id).back().status == deployments::LogStatus::succeeded);
  const auto pending = f.deploy(f.adas, order("pending"));
  CHECK(f.change(f.adas, pending.id, wanted).status == Status::pending);
}

TEST_CASE("a custom domain alone doesn't touch the container") {
  Fixture f;
  const auto changed = f.point(f.adas, f.row.id, "www.example.com");
  CHECK(changed.custom_domain == "www.example.com");
  CHECK(changed.generation == f.row.generation);
  CHECK(changed.status == Status::running);
  const auto details = nlohmann::json::parse(*f.logs(f.row.id).back().details);
  CHECK(details["fields"] == nlohmann::json::array({"custom_domain"}));
  CHECK(details["changes"][0] ==
        nlohmann::json{{"field", "custom_domain"}, {"from", nullptr}, {"to", "www.example.com"}});
  CHECK_FALSE(details.contains("generation"));
}

TEST_CASE("a change is refused for the same reasons as a new deployment") {
  Fixture f;
  Change wanted;
  const auto refused_for = [&](auto&& set) {
    Change bad;
    set(bad);
    return f.refused(bad);
  };
  CHECK(refused_for([](Change& c) { c.set(&ContainerSpec::port, 0); }) == "422 validation_failed");
  CHECK(refused_for([](Change& c) { c.set(&ContainerSpec::image, "ghcr.io/UPPER"); }) ==
        "422 validation_failed");
  CHECK(refused_for([](Change& c) { c.set(&ContainerSpec::image, "quay.io/x/y"); }) ==
        "422 unsupported_registry");
  CHECK(refused_for([](Change& c) { c.env = {{"BERTH_X", "1"}}; }) == "422 validation_failed");
  CHECK(refused_for([](Change& c) { c.set(&ContainerSpec::health_path, "nowhere"); }) ==
        "422 validation_failed");
  CHECK(refused_for([](Change& c) { c.custom_domain = "*.example.com"; }) ==
        "422 validation_failed");
  CHECK(refused_for([](Change& c) { c.tier = "gold"; }) == "422 unknown_tier");
  CHECK(refused_for([](Change& c) {
          for (int i = 0; i < int(deployments::max_env_keys); ++i)
            c.env["K" + std::to_string(i)] = "x";
        }) == "422 validation_failed");  // too many, together with the existing ones
  CHECK(f.find_deployment(f.row.id).generation == f.row.generation);
  // A registry that is no longer allowed doesn't prevent other changes.
  f.rules.registries = {"docker.io/library"};
  CHECK(refused_for([](Change& c) { c.set(&ContainerSpec::port, 9000); }) == "");
  CHECK(refused_for([&](Change& c) { c.set(&ContainerSpec::image, f.row.container.image); }) ==
        "422 unsupported_registry");
}

// What the deployment's row says of what can be changed, by column.
std::map<std::string, std::string> columns_of(Fixture& f) {
  std::vector<std::string> names = {"env_sealed", "credentials_sealed", "custom_domain", "labels"};
  for (const auto& field : deployments::container_fields) names.emplace_back(field.name);
  return f.read([&](db::Tx& tx) {
    std::map<std::string, std::string> found;
    for (const std::string& name : names) {
      auto row = tx.query(
          "SELECT CAST(" + name + " AS TEXT) AS value FROM deployments WHERE id = $1", f.row.id);
      REQUIRE(row.next());
      found[name] = row.text("value");
    }
    return found;
  });
}

TEST_CASE("a change writes what changed, and nothing else") {
  using Columns = std::set<std::string>;
  Fixture f;
  const auto labels_in_lists = [&] {
    return f.read([&](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM deployment_labels WHERE deployment_id = $1", f.row.id);
    });
  };
  const auto written_by = [&](const Change& wanted) {
    const auto before = columns_of(f);
    f.change(f.adas, f.row.id, wanted);
    Columns written;
    for (const auto& [name, value] : columns_of(f))
      if (before.at(name) != value) written.insert(name);
    return written;
  };
  Change first;
  first.labels = deployments::Labels{{"stage", "test"}, {"team", "red"}};
  CHECK(written_by(first) == Columns{"labels"});
  CHECK(labels_in_lists() == 2);
  // If a row of a label were written again, it would be there again.
  f.write([](db::Tx& tx) { tx.execute("DELETE FROM deployment_labels WHERE label = 'stage'"); });

  // Sealing gives another text each time, so a sealed column that stays wasn't written.
  int changes = 0;
  for (const auto& field : deployments::container_fields) {
    INFO(field.name);
    Change one;
    one.fields = {&field};
    set_value(one.container, field, nlohmann::json::parse(field.in_change.example));
    CHECK(written_by(one) == Columns{std::string(field.name)});
    ++changes;
  }
  Change env;
  env.env = {{"KEEP", "2"}};
  CHECK(written_by(env) == Columns{"env_sealed"});
  Change credentials;
  credentials.registry_credentials = {{.username = "robot", .password = "other"}};
  CHECK(written_by(credentials) == Columns{"credentials_sealed"});
  Change domain;
  domain.custom_domain = "www.example.com";
  CHECK(written_by(domain) == Columns{"custom_domain"});
  CHECK(labels_in_lists() == 1);
  Change team;
  team.labels = deployments::Labels{{"stage", "test"}, {"team", "blue"}};
  CHECK(written_by(team) == Columns{"labels"});
  CHECK(labels_in_lists() == 1);
  CHECK(written_by(team).empty());
  std::cout << "changes that write one column: " << changes + 4 << "\n";
}

TEST_CASE("who may change what") {
  Fixture f;
  Change wanted;
  wanted.set(&ContainerSpec::port, 8080);
  CHECK(refusal([&] { f.change(f.eves, f.row.id, wanted); }) == "403 forbidden");
  CHECK(refusal([&] { f.change(f.adas, "unknown", wanted); }) == "404 deployment_not_found");
  f.write([&](db::Tx& tx) { tx.execute("UPDATE deploy_tiers SET custom_domain_allowed = 0"); });
  Change domain;
  domain.custom_domain = "www.example.com";
  CHECK(f.refused(domain) == "422 validation_failed");
  domain.custom_domain.emplace(std::nullopt);
  CHECK(f.refused(domain) == "");
  f.write([&](db::Tx& tx) { tx.execute("UPDATE deployments SET suspended_at = 1"); });
  CHECK(f.refused(wanted) == "403 deployment_suspended");
  f.destroy(f.adas, f.row.id);
  CHECK(f.refused(wanted) == "422 deployment_destroyed");
}

}  // namespace
