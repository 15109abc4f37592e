#include <set>

#include "tests/kube_client/any_cluster.h"

using namespace berth::kube;
using nlohmann::json;

// What berth needs of an API server beyond basic use. These tests run on the simulated one and on a
// real one.

namespace {

constexpr std::chrono::seconds busy_controllers{90};  // for a cluster that is busy

std::string version_of(const Object& object) { return object["metadata"]["resourceVersion"]; }

json data(const std::map<std::string, std::string>& values) {
  json encoded = json::object();
  for (const auto& [key, value] : values) encoded[key] = berth::base64(value);
  return {{"data", encoded}};
}

json labels(const json& values) { return {{"metadata", {{"labels", values}}}}; }

void check_refused(const ApiError& error, int status, const std::string& reason,
                   const std::string& words) {
  CHECK(error.status == status);
  CHECK(error.reason == reason);
  CHECK_THAT(error.what(), Catch::Contains(words));
}

}  // namespace

TEST_CASE("an apply removes what it no longer names and keeps what others added", "[real]") {
  AnyCluster any;
  any.client.apply(any.secret("s", data({{"ours", "1"}, {"former", "2"}})));
  Object changed = any.client.get(secrets, any.name_space, "s").value();
  changed["data"]["theirs"] = berth::base64("3");
  any.client.update(changed);
  const Object after = any.client.apply(any.secret("s", data({{"ours", "4"}})));
  CHECK(after["data"] == data({{"ours", "4"}, {"theirs", "3"}})["data"]);
}

// The ground of reconcilers/cluster/ownership.h.
TEST_CASE("what was created is removed by an apply only after the managed fields were changed",
          "[real]") {
  AnyCluster any;
  const json wanted = any.secret("s", data({{"ours", "1"}}));
  any.client.create(any.secret("s", data({{"ours", "1"}, {"former", "2"}})));
  SECTION("as it was created, the field stays") {
    CHECK(any.client.apply(wanted)["data"].contains("former"));
  }
  SECTION("with the operation changed, it goes") {
    const Object live = any.client.get(secrets, any.name_space, "s").value();
    json managers = live["metadata"]["managedFields"];
    REQUIRE(managers.size() == 1);
    CHECK(managers[0]["operation"] == "Update");
    managers[0]["operation"] = "Apply";
    managers[0]["fieldsV1"] = json::parse(managers[0]["fieldsV1"].get<std::string>());
    json change = {{"apiVersion", "v1"}, {"kind", "Secret"}};
    change["metadata"] = {{"name", "s"},
                          {"namespace", any.name_space},
                          {"resourceVersion", version_of(live)},
                          {"managedFields", managers}};
    CHECK(any.client.merge(change)["data"] == live["data"]);
    CHECK(any.client.apply(wanted)["data"] == data({{"ours", "1"}})["data"]);
    try {
      any.client.merge(change);
      FAIL("an old version was accepted");
    } catch (const ApiError& error) {
      check_refused(error, 409, "Conflict", "has been modified");
    }
  }
}

TEST_CASE("a create doesn't accept managed fields, and says what exists", "[real]") {
  AnyCluster any;
  json secret = any.secret("s", data({{"a", "1"}}));
  secret["metadata"]["managedFields"] =
      json::array({{{"manager", "berth"},
                    {"operation", "Apply"},
                    {"apiVersion", "v1"},
                    {"fieldsType", "FieldsV1"},
                    {"fieldsV1", {{"f:data", {{"f:a", json::object()}}}}}}});
  const Object made = any.client.create(secret);
  for (const json& entry : made["metadata"]["managedFields"])
    CHECK_FALSE((entry["operation"] == "Apply" && entry.dump().contains("f:data")));
  try {
    any.client.create(any.secret("s", data({})));
    FAIL("it was created twice");
  } catch (const ApiError& error) {
    check_refused(error, 409, "AlreadyExists", "already exists");
  }
}

TEST_CASE("an apply that changes nothing leaves the version as it is", "[real]") {
  AnyCluster any;
  const json wanted = any.secret("s", data({{"a", "1"}}));
  const Object first = any.client.apply(wanted);
  CHECK(version_of(any.client.apply(wanted)) == version_of(first));
  CHECK(any.client.apply(wanted)["metadata"]["managedFields"] ==
        first["metadata"]["managedFields"]);
}

TEST_CASE("an apply takes over a field that somebody else has set", "[real]") {
  AnyCluster any;
  json theirs = any.secret("s", data({{"a", "theirs"}}));
  any.client.create(theirs);
  CHECK(any.client.apply(any.secret("s", data({{"a", "ours"}})))["data"] ==
        data({{"a", "ours"}})["data"]);
}

TEST_CASE("what an API server refuses, and how it says so", "[real]") {
  AnyCluster any;
  const auto apply = [&](const json& object) {
    return error_from([&] { any.client.apply(object); });
  };
  check_refused(apply(any.secret("Upper")), 422, "Invalid", "metadata.name: Invalid value");
  check_refused(apply(any.secret("s", labels({{"a", "not a label"}}))), 422, "Invalid",
                "metadata.labels: Invalid value");
  check_refused(apply(any.object("v1", "Service", "s", {{"spec", {{"ports", {{{"port", 0}}}}}}})),
                422, "Invalid", "spec.ports[0].port: Invalid value");
  check_refused(apply(any.object("networking.k8s.io/v1", "Ingress", "i",
                                 {{"spec", {{"rules", {{{"host", "not a host"}}}}}}})),
                422, "Invalid", "spec.rules[0].host: Invalid value");
  json elsewhere = any.secret("s");
  elsewhere["metadata"]["namespace"] = any.name_space + "-x";
  check_refused(apply(elsewhere), 404, "NotFound",
                "namespaces \"" + any.name_space + "-x\" not found");
  check_refused(error_from([&] { any.client.logs(any.name_space, "nobody", 1, false); }), 404,
                "NotFound", "pods \"nobody\" not found");
  check_refused(error_from([&] {
                  any.client.list(secrets, {any.name_space, "", "colour=red"});
                }),
                400, "BadRequest", "colour");
}

TEST_CASE("selectors choose what is listed", "[real]") {
  AnyCluster any;
  any.client.apply(any.secret("red", labels({{"colour", "red"}, {"size", "1"}})));
  any.client.apply(any.secret("blue", labels({{"colour", "blue"}})));
  any.client.apply(any.secret("plain"));
  const auto listed = [&](const std::string& by_label, const std::string& by_field) {
    std::set<std::string> names;
    for (const Object& item : any.client.list(secrets, {any.name_space, by_label, by_field}).items)
      names.insert(item["metadata"]["name"].get<std::string>());
    return names;
  };
  using Names = std::set<std::string>;
  CHECK(listed("", "") == Names{"red", "blue", "plain"});
  CHECK(listed("colour=red", "") == Names{"red"});
  CHECK(listed("colour in (red,blue),size!=1", "") == Names{"blue"});
  CHECK(listed("colour", "") == Names{"red", "blue"});
  CHECK(listed("!colour", "") == Names{"plain"});
  CHECK(listed("", "metadata.name=plain") == Names{"plain"});
  CHECK(listed("colour=red", "metadata.name=plain").empty());
}

TEST_CASE("an object that loses a watch's labels is deleted for it, and may return", "[real]") {
  AnyCluster any;
  const std::string mark = any.name_space;
  any.client.apply(any.secret("s", labels({{"mark", mark}})));
  const List before = any.client.list(secrets, {"", "mark=" + mark, ""});
  REQUIRE(before.items.size() == 1);
  std::vector<EventType> seen;
  std::stop_source stop;
  any.client.apply(any.secret("s"));
  any.client.watch(
      secrets, {"", "mark=" + mark, ""}, before.resource_version,
      [&](EventType type, const Object& object) {
        if (type == EventType::bookmark) return;
        CHECK(object["metadata"]["name"] == "s");
        seen.push_back(type);
        if (seen.size() == 1) any.client.apply(any.secret("s", labels({{"mark", mark}})));
        if (seen.size() == 2) stop.request_stop();
      },
      stop.get_token());
  CHECK(seen == std::vector<EventType>{EventType::deleted, EventType::added});
}

TEST_CASE("an object with a finalizer stays until that is removed", "[real]") {
  AnyCluster any;
  any.client.apply(any.secret("s", {{"metadata", {{"finalizers", {"example.org/held"}}}}}));
  CHECK(any.client.remove(secrets, any.name_space, "s"));
  const Object leaving = any.client.get(secrets, any.name_space, "s").value();
  CHECK(leaving["metadata"].contains("deletionTimestamp"));
  CHECK(any.client.remove(secrets, any.name_space, "s"));
  any.client.apply(any.secret("s", {{"metadata", {{"finalizers", json::array()}}}}));
  CHECK_FALSE(any.client.get(secrets, any.name_space, "s"));
}

TEST_CASE("nothing can be created in a terminating namespace", "[real]") {
  AnyCluster any;
  any.client.apply(any.secret("s", {{"metadata", {{"finalizers", {"example.org/held"}}}}}));
  CHECK(any.client.remove(namespaces, "", any.name_space));
  const std::string words = "because it is being terminated";
  check_refused(error_from([&] { any.client.apply(any.secret("late")); }), 403, "Forbidden", words);
  check_refused(error_from([&] { any.client.create(any.pod("late")); }), 403, "Forbidden", words);
  const auto gone = [&] { return !any.client.get(namespaces, "", any.name_space).has_value(); };
  // Existing objects can still be changed, and have to be.
  CHECK(comes_true([&] {
    const auto left = any.client.get(secrets, any.name_space, "s");
    return left && left->at("metadata").contains("deletionTimestamp");
  }));
  any.client.apply(any.secret("s", {{"metadata", {{"finalizers", json::array()}}}}));
  CHECK(comes_true(gone, busy_controllers));
}

TEST_CASE("PodSecurity refuses what isn't restricted, and names everything wrong", "[real]") {
  AnyCluster any({{"pod-security.kubernetes.io/enforce", "restricted"},
                  {"pod-security.kubernetes.io/enforce-version", "latest"}});
  CHECK_NOTHROW(any.client.create(any.pod("meek")));
  const auto refused = [&](const json& container) {
    return error_from([&] { any.client.create(any.pod("bold", container)); });
  };
  const std::string prefix =
      "pods \"bold\" is forbidden: violates PodSecurity \"restricted:latest\": ";
  check_refused(
      refused({{"securityContext", nullptr}}), 403, "Forbidden",
      prefix +
          "allowPrivilegeEscalation != false (container \"app\" must set "
          "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "
          "\"app\" must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true "
          "(pod "
          "or container \"app\" must set securityContext.runAsNonRoot=true), seccompProfile (pod "
          "or "
          "container \"app\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or "
          "\"Localhost\")");
  check_refused(
      refused({{"securityContext", {{"privileged", true}, {"allowPrivilegeEscalation", true}}}}),
      403, "Forbidden",
      prefix +
          "privileged (container \"app\" must not set securityContext.privileged=true), "
          "allowPrivilegeEscalation != false (container \"app\" must set "
          "securityContext.allowPrivilegeEscalation=false)");
  check_refused(refused({{"securityContext", {{"privileged", true}}}}), 422, "Invalid",
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
  check_refused(refused({{"securityContext", {{"runAsUser", 0}}}}), 403, "Forbidden",
                prefix + "runAsUser=0 (container \"app\" must not set runAsUser=0)");
}

TEST_CASE("a quota refuses what it has no room for", "[real]") {
  AnyCluster any;
  any.client.apply(any.object("v1", "ResourceQuota", "q",
                              {{"spec", {{"hard", {{"pods", "1"}, {"limits.memory", "64Mi"}}}}}}));
  REQUIRE(comes_true([&] {
    return any.client.get(resource_quotas, any.name_space, "q")
        ->value(json::json_pointer("/status/used"), json::object())
        .contains("pods");
  }));
  const auto limited = [](const char* memory) {
    return json{{"resources", {{"limits", {{"memory", memory}}}}}};
  };
  const auto refused = [&](const json& container) {
    return error_from([&] { any.client.create(any.pod("second", container)); });
  };
  check_refused(
      refused({}), 403, "Forbidden",
      "pods \"second\" is forbidden: failed quota: q: must specify limits.memory for: app");
  check_refused(refused(limited("65Mi")), 403, "Forbidden",
                "pods \"second\" is forbidden: exceeded quota: q, requested: limits.memory=65Mi, "
                "used: limits.memory=0, limited: limits.memory=64Mi");
  any.client.create(any.pod("first", limited("16Mi")));
  check_refused(refused(limited("16Mi")), 403, "Forbidden",
                "pods \"second\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, "
                "limited: pods=1");
}

TEST_CASE("a limit range refuses what is too large", "[real]") {
  AnyCluster any;
  any.client.apply(any.object(
      "v1", "LimitRange", "l",
      {{"spec", {{"limits", {{{"type", "Container"}, {"max", {{"memory", "64Mi"}}}}}}}}}));
  check_refused(
      error_from([&] {
        any.client.create(any.pod("large", {{"resources", {{"limits", {{"memory", "1Gi"}}}}}}));
      }),
      403, "Forbidden",
      "pods \"large\" is forbidden: maximum memory usage per Container is 64Mi, but limit is 1Gi");
  // A container that states no limit gets the largest one that is allowed.
  const Object plain = any.client.create(any.pod("plain"));
  CHECK(plain["spec"]["containers"][0]["resources"]["limits"]["memory"] == "64Mi");
}

TEST_CASE("a budget for disruptions is kept as it was applied", "[real]") {
  AnyCluster any;
  const Object budget = any.object(
      "policy/v1", "PodDisruptionBudget", "b",
      {{"spec", {{"maxUnavailable", 1}, {"selector", {{"matchLabels", {{"app", "web"}}}}}}}});
  const Object first = any.client.apply(budget);
  CHECK(first["spec"] == budget["spec"]);
  CHECK(first["metadata"]["generation"] == 1);
  CHECK(any.client.apply(budget)["metadata"]["generation"] == 1);
}
