// berthd doctor --cluster, with the answers of an API server.
#include "berthd/doctor.h"

#include <catch2/catch.hpp>
#include <map>

#include "reconcilers/kube/client.h"

namespace {

using namespace berth;
using Catch::Contains;
using doctor::Finding;
using doctor::Result;
using nlohmann::json;

const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
const std::string admission = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";

json subject(const std::string& name) {
  return {{"kind", "ServiceAccount"}, {"namespace", "berth"}, {"name", name}};
}
json binding(const std::string& role, const std::string& account) {
  return {{"roleRef", {{"name", role}}}, {"subjects", json::array({subject(account)})}};
}
json role(const std::string& name, const json& rule) {
  return {{"metadata", {{"name", name}}}, {"rules", json::array({rule})}};
}
json policy(const std::string& name, const std::string& account, const std::string& resource) {
  const std::string user = "system:serviceaccount:berth:" + account;
  const json rule = {{"resources", json::array({resource})}};
  const json condition = {{"name", "berth"},
                          {"expression", "request.userInfo.username == \"" + user + "\""}};
  return {{"metadata", {{"name", name}}},
          {"spec",
           {{"matchConstraints", {{"resourceRules", json::array({rule})}}},
            {"matchConditions", json::array({condition})}}}};
}
json denies(const std::string& name) {
  return {{"spec", {{"policyName", name}, {"validationActions", json::array({"Deny"})}}}};
}

// What the chart makes, with exec.enabled and admissionPolicy.enabled.
struct Fixture {
  Config config;
  std::map<std::string, json> lists = {
      {rbac + "/namespaces/berth/rolebindings", json::array({binding("berth", "berth")})},
      {rbac + "/namespaces/berth/roles",
       json::array({role("berth", {{"resources", json::array({"serviceaccounts/token"})},
                                   {"resourceNames", json::array({"berth-exec"})},
                                   {"verbs", json::array({"create"})}})})},
      {rbac + "/clusterrolebindings", json::array({binding("berth:exec", "berth-exec")})},
      {rbac + "/clusterroles",
       json::array(
           {role("berth:exec", {{"resources", json::array({"pods/exec", "pods/portforward"})},
                                {"verbs", json::array({"get", "create"})}})})},
      {admission + "ybindings", json::array({denies("all"), denies("tokens"), denies("exec")})},
      {admission + "ies", json::array({policy("all", "berth", "*/*"),
                                       policy("tokens", "berth", "serviceaccounts/token"),
                                       policy("exec", "berth-exec", "*/*")})}};
  bool has_account = true;

  Fixture() { config.exec_service_account = "berth/berth-exec"; }

  Finding sessions() {
    const auto all = doctor::examine(config, [&](const std::string& path) -> json {
      if (path == "/version") return {{"gitVersion", "v1.37.0"}};
      if (path == "/api/v1/namespaces/berth/serviceaccounts/berth-exec" && has_account) return {};
      const auto found = lists.find(path);
      if (found == lists.end()) throw kube::ApiError(404, "NotFound", "there is no " + path);
      return {{"items", found->second}};
    });
    for (const Finding& one : all)
      if (one.name == "sessions in containers") return one;
    FAIL("there is no such finding");
    return {};
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "sessions in containers have what the chart gives them",
                 "[doctor_test]") {
  const Finding found = sessions();
  INFO(found.detail);
  CHECK(found.result == Result::ok);
}

TEST_CASE_METHOD(Fixture, "what sessions in containers lack is said, one by one", "[doctor_test]") {
  SECTION("the account") {
    has_account = false;
    CHECK_THAT(sessions().detail, Contains("no ServiceAccount berth/berth-exec"));
  }
  SECTION("the right to request its tokens") {
    lists[rbac + "/namespaces/berth/roles"] = json::array();
    CHECK_THAT(sessions().detail, Contains("may create its tokens"));
  }
  SECTION("the right to another account's tokens isn't that one") {
    lists[rbac + "/namespaces/berth/roles"][0]["rules"][0]["resourceNames"] =
        json::array({"default"});
    CHECK_THAT(sessions().detail, Contains("may create its tokens"));
  }
  SECTION("its own rights") {
    lists[rbac + "/clusterrolebindings"] = json::array();
    CHECK_THAT(sessions().detail, Contains("pods/portforward"));
  }
  SECTION("the policy for tokens") {
    lists[admission + "ybindings"] = json::array({denies("all"), denies("exec")});
    CHECK_THAT(sessions().detail, Contains("which tokens berth/berth may create"));
  }
  SECTION("the policy that confines it, though there is one for berth's own account") {
    lists[admission + "ies"].erase(2);
    CHECK_THAT(sessions().detail, Contains("apps' containers"));
  }
  SECTION("nothing but the account") {
    for (auto& [path, list] : lists) list = json::array();
    const Finding found = sessions();
    CHECK_THAT(found.detail, Contains("tokens") && Contains("pods/exec") && Contains("policy"));
  }
  const Finding found = sessions();
  CHECK(found.result == Result::failed);
  CHECK_FALSE(found.advice.empty());
}

TEST_CASE_METHOD(Fixture, "without an account, sessions are off, or missing where a tier has them",
                 "[doctor_test]") {
  config.exec_service_account.reset();
  CHECK(sessions().result == Result::ok);
  tiers::Tier tier;
  tier.slug = "pro";
  tier.exec_allowed = true;
  config.tiers.push_back(tier);
  CHECK(sessions().result == Result::warning);
  CHECK_THAT(sessions().detail, Contains("pro"));
}

TEST_CASE_METHOD(Fixture, "what may not be read is unknown", "[doctor_test]") {
  lists.erase(rbac + "/clusterroles");
  CHECK(sessions().result == Result::unknown);
}
