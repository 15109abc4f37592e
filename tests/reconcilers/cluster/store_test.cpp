#include "reconcilers/cluster/store.h"

#include <catch2/catch.hpp>

#include "reconcilers/cluster/applier.h"
#include "reconcilers/cluster/differ.h"

using namespace berth::reconcilers;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

json object(const std::string& name, int version, const std::string& uid = "u-1",
            const std::string& deployment = "d-1") {
  return {{"kind", "Service"},
          {"metadata",
           {{"name", name},
            {"namespace", "ns"},
            {"uid", uid},
            {"resourceVersion", std::to_string(version)},
            {"labels", {{"berth/deployment", deployment}}}}}};
}

int version_in(const Store& store, const std::string& name) {
  const auto found = store.find("ns", name);
  return found ? std::stoi(text_at(*found, {"metadata", "resourceVersion"})) : 0;
}

}  // namespace

TEST_CASE("objects are found by name, by namespace and by deployment") {
  Store store;
  store.put(object("a", 1, "u-1", "d-1"));
  store.put(object("b", 2, "u-2", "d-2"));
  CHECK(store.find("ns", "a") != nullptr);
  CHECK(store.find("other", "a") == nullptr);
  CHECK(store.deployments() == std::set<std::string>{"d-1", "d-2"});
  CHECK(store.deployments_in("ns") == store.deployments());
  CHECK(store.deployments_in("n").empty());
  REQUIRE(store.of_deployment("d-2").size() == 1);
  CHECK(name_of(*store.of_deployment("d-2")[0]) == "b");
  store.put(object("b", 3, "u-2", "d-3"));
  CHECK(store.of_deployment("d-2").empty());
  store.erase(object("b", 4, "u-2", "d-3"));
  CHECK(store.of_deployment("d-3").empty());
  CHECK(store.size() == 1);
}

TEST_CASE("an older version never replaces a newer one") {
  Store store;
  store.note(object("a", 10));
  CHECK_FALSE(store.put(object("a", 9)));
  CHECK_FALSE(store.put(object("a", 10)));
  CHECK(version_in(store, "a") == 10);
  store.put(object("a", 11));
  CHECK(version_in(store, "a") == 11);
  CHECK(store.put(object("a", 5, "u-2")));  // another object of the same name
}

TEST_CASE("the late answer to a write doesn't bring a deleted object back") {
  Store store;
  store.put(object("a", 1));
  store.erase(object("a", 3));
  store.note(object("a", 2));
  CHECK(store.find("ns", "a") == nullptr);
  CHECK(store.put(object("a", 4)));  // it has its labels again
  store.erase(object("a", 5));
  store.put(object("a", 6, "u-2"));
  store.erase(object("a", 3, "u-1"));  // a late event of the old object
  CHECK(store.find("ns", "a") != nullptr);
}

TEST_CASE("a list tells what is new, changed and gone, and keeps what was written after it") {
  Store store;
  store.put(object("same", 1, "u-1"));
  store.put(object("changed", 2, "u-2"));
  store.put(object("gone", 3, "u-3"));
  store.note(object("written", 12, "u-4"));
  std::vector<std::string> names;
  for (const auto& changed : store.replace(
           {object("same", 1, "u-1"), object("changed", 8, "u-2"), object("new", 9, "u-5")}, "10"))
    names.push_back(name_of(*changed));
  CHECK(names == std::vector<std::string>{"changed", "new", "gone"});
  CHECK(version_in(store, "written") == 12);
  CHECK(store.find("ns", "gone") == nullptr);
  CHECK(store.replace({}, "13").size() == 4);
}

TEST_CASE(
    "only berth's own managed fields are kept, as text that shows whether an object differs") {
  const auto managed = [](const char* manager, const json& fields) {
    return json{{"manager", manager}, {"operation", "Apply"}, {"fieldsV1", fields}};
  };
  json full = object("a", 1);
  const json desired = full;
  full["metadata"]["managedFields"] = {
      managed("kubectl", {{"f:theirs", json::object()}}),
      managed("berth", {{"f:metadata", {{"f:name", json::object()}}}})};
  const json slim = slimmed(full);
  REQUIRE(slim["metadata"]["managedFields"].size() == 1);
  CHECK(slim["metadata"]["managedFields"][0]["manager"] == "berth");
  CHECK(slim["metadata"]["managedFields"][0]["fieldsV1"].is_string());
  CHECK_FALSE(differs(desired, slim));
  full["metadata"]["managedFields"][1]["fieldsV1"]["f:spec"] = {{"f:extra", json::object()}};
  CHECK(differs(desired, full));
  CHECK(differs(desired, slimmed(full)));
}

TEST_CASE("only the node and what can change of the containers are kept of a pod's spec") {
  json pod = object("a", 1);
  pod["kind"] = "Pod";
  const json limits = {{"cpu", "100m"}, {"memory", "128Mi"}};
  json container = {{"name", "app"}, {"image", "nginx:1"}, {"resources", {{"limits", limits}}}};
  container["resources"]["limits"]["ephemeral-storage"] = "1Gi";
  pod["spec"] = {{"nodeName", "node1"}, {"containers", {container}}};
  pod["status"]["phase"] = "Running";
  const json slim = slimmed(pod);
  const json kept = {{"name", "app"}, {"resources", {{"limits", limits}}}};
  CHECK(slim["spec"] == json{{"nodeName", "node1"}, {"containers", json::array({kept})}});
  CHECK(slimmed(slim)["spec"] == slim["spec"]);
  CHECK(slim["status"]["phase"] == "Running");
}

TEST_CASE("the numbers of a quota don't count as a change") {
  Store store;
  json quota = object("quota", 1);
  quota["kind"] = "ResourceQuota";
  CHECK(store.put(quota));
  quota["metadata"]["resourceVersion"] = "2";
  quota["status"]["used"]["pods"] = "1";
  const auto revision = store.revision("ns", "quota");
  CHECK(revision > 0);
  CHECK_FALSE(store.put(quota));
  CHECK(version_in(store, "quota") == 2);
  CHECK(store.revision("ns", "quota") == revision);
  quota["metadata"]["resourceVersion"] = "3";
  quota["spec"]["hard"]["pods"] = "1";
  CHECK(store.put(quota));
  CHECK(store.revision("ns", "quota") > revision);
}

TEST_CASE("an object that comes back under its name has another revision") {
  Store store;
  CHECK(store.revision("ns", "a") == 0);
  store.put(object("a", 1, "u-1"));
  const auto first = store.revision("ns", "a");
  store.erase(object("a", 2, "u-1"));
  CHECK(store.revision("ns", "a") == 0);
  store.put(object("a", 3, "u-2"));
  CHECK(store.revision("ns", "a") > first);
}

TEST_CASE("repairs that the API server doesn't take cost nothing") {
  RepairBudget budget;
  const auto start = RepairBudget::TimePoint{} + 1h;
  for (int i = 0; i < 3 * RepairBudget::most; ++i) {
    CHECK_FALSE(budget.wait_before("a", start));
    budget.give_back("a");
  }
  CHECK_FALSE(budget.wait_of("a", start));
  budget.give_back("b");
  CHECK(budget.keys() == 1);
}

TEST_CASE("the budget of repairs remembers a limited number of objects") {
  RepairBudget budget;
  const auto start = RepairBudget::TimePoint{} + 1h;
  for (size_t i = 0; i < 3 * RepairBudget::max_keys; ++i)
    CHECK_FALSE(budget.wait_before(std::to_string(i), start).has_value());
  CHECK(budget.keys() <= RepairBudget::max_keys);
}

TEST_CASE("repairs of one object are limited and recover") {
  RepairBudget budget;
  const auto start = RepairBudget::TimePoint{} + 1h;
  for (int i = 0; i < 10; ++i) CHECK_FALSE(budget.wait_before("a", start).has_value());
  CHECK(budget.wait_before("a", start) == 10s);
  CHECK_FALSE(budget.wait_before("b", start).has_value());
  CHECK(budget.wait_before("a", start + 4s) == 6s);
  CHECK_FALSE(budget.wait_before("a", start + 10s).has_value());
  CHECK(budget.wait_before("a", start + 10s) == 10s);
}
