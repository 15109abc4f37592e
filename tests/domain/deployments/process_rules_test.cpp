// What the processes, the numbers of containers and the crons of a deployment may be.
#include "controller/domain/deployments/process_rules.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "controller/domain/deployments/rollback.h"
#include "tests/domain/deployments/custom_domains/custom_domains_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using deployments::Change;
using deployments::ContainerSpec;
using deployments::Cron;
using deployments::Order;
using deployments::Process;
using deployments::Processes;
using deployments::Scale;
using nlohmann::json;

Processes processes(const char* text) { return json::parse(text).get<Processes>(); }

struct Fixture : DomainWorld {
  Fixture() {
    write([](db::Tx& tx) {
      tx.execute("UPDATE deploy_tiers SET max_replicas = 3 WHERE slug = 'wide'");
    });
  }
  // The fields that are wrong with an order for this.
  std::vector<std::string> wrong(const std::function<void(Order&)>& edit) {
    Order wanted = order("other");
    edit(wanted);
    std::vector<std::string> fields;
    for (const auto& [field, why] : details([&] { deploy(adas, wanted); })) fields.push_back(field);
    return fields;
  }
  std::vector<std::string> wrong_processes(const char* text) {
    return wrong([&](Order& wanted) { wanted.container.processes = processes(text); });
  }
};

using Fields = std::vector<std::string>;

}  // namespace

TEST_CASE("without processes there is web, as the container's own fields say",
          "[process_rules_test]") {
  ContainerSpec container = {.image = "web:1", .port = 8080, .health_path = "/up"};
  container.replicas = 2;
  const auto all = deployments::processes_of(container);
  REQUIRE(all.size() == 1);
  CHECK(all[0].name == "web");
  CHECK(all[0].port == 8080);
  CHECK(all[0].health_path == "/up");
  CHECK(deployments::most_replicas(container) == 2);
  CHECK(deployments::is_served(container));
}

TEST_CASE("what web leaves out is the container's, and what another process leaves out the image's",
          "[process_rules_test]") {
  ContainerSpec container = {.image = "web:1", .port = 8080, .health_path = "/up"};
  container.command = {"./serve"};
  container.replicas = 2;
  container.processes = processes(R"({"zeta": {}, "web": {"args": ["--fast"]},
                                      "worker": {"command": ["./work"], "replicas": 3}})");
  const auto all = deployments::processes_of(container);
  REQUIRE(all.size() == 3);
  CHECK(all[0].name == "web");
  CHECK(all[0].command == deployments::Texts{"./serve"});
  CHECK(all[0].args == deployments::Texts{"--fast"});
  CHECK(all[0].port == 8080);
  CHECK(all[0].replicas == 2);
  CHECK(all[1].name == "worker");
  CHECK_FALSE(all[1].port);
  CHECK(all[1].health_path.empty());
  CHECK(all[1].replicas == 3);
  CHECK(all[2].name == "zeta");
  CHECK(all[2].command.empty());
  CHECK(deployments::most_replicas(container) == 6);
  container.processes = processes(R"({"worker": {}})");
  CHECK_FALSE(deployments::is_served(container));
  container.processes = processes(R"({"web": {"port": null}})");
  CHECK_FALSE(deployments::is_served(container));
}

TEST_CASE_METHOD(Fixture, "only web has a port, and names of processes are labels",
                 "[process_rules_test]") {
  CHECK(wrong_processes(R"({"web": {}, "worker": {"port": null}})").empty());
  CHECK(wrong_processes(R"({"web": {"port": 80}, "worker": {"port": 80}})") ==
        Fields{"processes.worker.port"});
  CHECK(wrong_processes(R"({"web": {"port": 0}})") == Fields{"processes.web.port"});
  for (const char* name : {"Web", "1st", "a-", "", "a_b", "twenty-one-characters"})
    CHECK(wrong([&](Order& wanted) {
            wanted.container.processes = {{name, Process()}};
          }) == Fields{"processes"});
}

TEST_CASE_METHOD(Fixture, "numbers of containers are at least one and at most what the tier allows",
                 "[process_rules_test]") {
  CHECK(wrong([](Order& wanted) { wanted.container.replicas = 3; }).empty());
  CHECK(wrong([](Order& wanted) { wanted.container.replicas = 4; }) == Fields{"replicas"});
  CHECK(wrong([](Order& wanted) { wanted.container.replicas = 0; }) == Fields{"replicas"});
  CHECK(wrong([](Order& wanted) { wanted.container.replicas = -1; }) == Fields{"replicas"});
  CHECK(wrong_processes(R"({"web": {"replicas": 2}, "worker": {"replicas": 2}})") ==
        Fields{"processes"});
  CHECK(wrong_processes(R"({"worker": {"replicas": 0}})") == Fields{"processes.worker.replicas"});
  const auto scale = [&](int min, int max, int in_flight) {
    return wrong([&](Order& wanted) { wanted.container.scale = Scale{min, max, in_flight}; });
  };
  CHECK(scale(1, 4, 10) == Fields{"scale"});
  CHECK(scale(3, 2, 10) == Fields{"scale.min"});
  CHECK(scale(0, 2, 10) == Fields{"scale.min"});
  CHECK(scale(1, 2, 0) == Fields{"scale.in_flight"});
  CHECK(wrong_processes(R"({"web": {"replicas": 1, "scale": {"max": 2, "in_flight": 5}}})") ==
        Fields{"processes.web.scale"});
  CHECK(wrong_processes(R"({"worker": {"scale": {"max": 2, "in_flight": 5}}})") ==
        Fields{"processes.worker.scale"});
}

TEST_CASE_METHOD(Fixture, "a process is no larger than the tier", "[process_rules_test]") {
  CHECK(wrong_processes(R"({"worker": {"memory_mb": 64, "cpu_millicores": 50}})").empty());
  CHECK(wrong_processes(R"({"worker": {"memory_mb": 129}})") ==
        Fields{"processes.worker.memory_mb"});
  CHECK(wrong_processes(R"({"worker": {"cpu_millicores": 101}})") ==
        Fields{"processes.worker.cpu_millicores"});
}

TEST_CASE_METHOD(Fixture, "a custom domain needs a process that is served",
                 "[process_rules_test]") {
  const auto at_domain = [](const char* text) {
    return [text](Order& wanted) {
      wanted.container.processes = processes(text);
      wanted.custom_domain = "shop.example.com";
    };
  };
  CHECK(wrong(at_domain(R"({"worker": {}})")) == Fields{"custom_domain"});
  CHECK(wrong(at_domain(R"({"web": {}, "worker": {}})")).empty());
  // Neither may a deployment with a domain lose web.
  const auto row = deploy_at(adas, "pointed", "pointed.example.com");
  Change wanted;
  wanted.fields = {&deployments::field_of(&ContainerSpec::processes)};
  wanted.container.processes = processes(R"({"worker": {}})");
  CHECK(details([&] { change(adas, row.id, wanted); }).contains("custom_domain"));
}

TEST_CASE_METHOD(Fixture, "crons have different names, a command and a known process",
                 "[process_rules_test]") {
  const auto with = [&](const std::vector<Cron>& crons) {
    return wrong([&](Order& wanted) { wanted.container.crons = crons; });
  };
  const Cron good = {.name = "nightly", .schedule = "0 3 * * *", .command = {"./clean-up"}};
  Cron nameless = good, empty = good, elsewhere = good;
  nameless.name = "Nightly";
  empty.command.clear();
  elsewhere.process = "worker";
  CHECK(with({good}).empty());
  CHECK(with({good, good}) == Fields{"crons.1.name"});
  CHECK(with({nameless}) == Fields{"crons.0.name"});
  CHECK(with({empty}) == Fields{"crons.0.command"});
  CHECK(with({elsewhere}) == Fields{"crons.0.process"});
}

TEST_CASE_METHOD(Fixture, "another number of containers replaces none, and a rollback keeps it",
                 "[process_rules_test]") {
  Order wanted = order("shop");
  wanted.container.processes = processes(R"({"web": {}, "worker": {"command": ["./work"]}})");
  const auto row = deploy(adas, wanted);
  const auto runs = [&] {
    deployments::Observation seen;
    seen.status = deployments::Status::running;
    record(row.id, find_deployment(row.id).generation, seen);
  };
  runs();
  const auto to = [&](const char* text) {
    Change asked;
    asked.fields = {&deployments::field_of(&ContainerSpec::processes)};
    asked.container.processes = processes(text);
    return change(adas, row.id, asked);
  };
  CHECK(to(R"({"web": {}, "worker": {"command": ["./work"], "replicas": 2}})").generation ==
        row.generation);
  const auto other = to(R"({"web": {}, "worker": {"command": ["./other"], "replicas": 2}})");
  CHECK(other.generation == row.generation + 1);
  runs();
  const auto back = write([&](db::Tx& tx) {
    return deployments::rollback(tx, actor(adas), row.id, {}, rules, keys.data);
  });
  CHECK(back.container.processes ==
        processes(R"({"web": {}, "worker": {"command": ["./work"], "replicas": 2}})"));
}

TEST_CASE("processes, scales and crons are the same after a trip through JSON",
          "[process_rules_test]") {
  const json all = json::parse(R"({"a": {}, "web": {"port": null, "args": []},
      "b": {"command": ["x"], "port": 80, "scale": {"min": 1, "max": 2, "in_flight": 3},
            "memory_mb": 64, "cpu_millicores": 10}})");
  CHECK(json(all.get<Processes>()) == all);
  CHECK(json::parse(R"({"max": 2, "in_flight": 3})").get<Scale>() == Scale{1, 2, 3});
  const Cron cron = {.name = "n", .schedule = "* * * * *", .command = {"x"}, .process = "web"};
  CHECK(json(cron).get<Cron>() == cron);
}
