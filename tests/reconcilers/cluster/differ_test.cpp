#include "reconcilers/cluster/differ.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "manifests/manifests.h"
#include "tests/manifests/shop.h"

using namespace berth;
using namespace berth::reconcilers;
using nlohmann::json;

namespace {

json with_manager(json object, const json& fields, const std::string& manager = "berth",
                  const std::string& operation = "Apply") {
  object["metadata"]["managedFields"].push_back({{"manager", manager},
                                                 {"operation", operation},
                                                 {"fieldsType", "FieldsV1"},
                                                 {"fieldsV1", fields}});
  return object;
}

std::vector<json> all_objects() {
  deployments::DesiredState state;
  state.deployment.id = "d-1";
  state.deployment.app_id = "a-1";
  state.deployment.name = "shop";
  state.deployment.container.image = "ghcr.io/acme/shop:1";
  state.deployment.container.port = 8080;
  state.deployment.container.health_path = "/";
  state.deployment.memory_limit_mb = 1024;
  state.deployment.cpu_limit_millicores = 1000;
  state.secrets.env = {{"A", "1"}};
  state.secrets.registry_credentials = {"robot", "secret"};
  const manifests::Settings settings = {.instance = "i",
                                        .apps_domain = "apps.example",
                                        .ingress_class = "traefik",
                                        .wildcard_tls_secret = "wildcard"};
  auto objects = manifests::of_deployment(state, settings);
  const auto more = manifests::of_namespace("a-1", berth::test::size_of_one(1024, 1000), settings);
  objects.insert(objects.end(), more.begin(), more.end());
  return objects;
}

// Returns an object as a server completes it: more fields everywhere, except in lists without keys.
json grown(json object) {
  if (object.is_object()) {
    for (auto& [key, value] : object.items())
      if (key != "labels" || value.is_object()) value = grown(value);
    object["addedByTheServer"] = {{"deep", 1}};
  } else if (object.is_array()) {
    for (json& item : object) item = grown(item);
  }
  return object;
}

// Collects all scalars of an object with their pointers.
void collect_scalars(const json& node, const json::json_pointer& at,
                     std::vector<json::json_pointer>& out) {
  if (node.is_object())
    for (const auto& [key, value] : node.items()) collect_scalars(value, at / key, out);
  else if (node.is_array())
    for (size_t i = 0; i < node.size(); ++i) collect_scalars(node[i], at / i, out);
  else
    out.push_back(at);
}

}  // namespace

TEST_CASE("desired must be a subset of live") {
  struct Case {
    const char* about;
    json desired, live;
    bool subset;
  };
  const std::vector<Case> cases = {
      {"equal", {{"a", 1}}, {{"a", 1}}, true},
      {"the server adds fields",
       {{"a", {{"b", 1}}}},
       {{"a", {{"b", 1}, {"c", 2}}}, {"status", {{"x", 1}}}},
       true},
      {"another value", {{"a", 1}}, {{"a", 2}}, false},
      {"a field is missing", {{"a", 1}}, json::object(), false},
      {"empty ones are dropped by the server",
       {{"a", json::array()}, {"b", json::object()}, {"c", nullptr}},
       json::object(),
       true},
      {"an empty one matches what was defaulted",
       {{"podSelector", json::object()}},
       {{"podSelector", json::object()}},
       true},
      {"quantities by value",
       {{"limits", {{"cpu", "1000m"}, {"memory", "1024Mi"}}}},
       {{"limits", {{"cpu", "1"}, {"memory", "1Gi"}}}},
       true},
      {"a quantity may come as a number",
       {{"hard", {{"pods", "3"}}}},
       {{"hard", {{"pods", 3}}}},
       true},
      {"another quantity", {{"limits", {{"cpu", "1000m"}}}}, {{"limits", {{"cpu", "2"}}}}, false},
      {"a size limit is a quantity",
       {{"emptyDir", {{"sizeLimit", "1024Mi"}}}},
       {{"emptyDir", {{"sizeLimit", "1Gi"}}}},
       true},
      {"texts elsewhere are none", {{"value", "1000m"}}, {{"value", "1"}}, false},
      {"containers by name, in any order",
       {{"containers", {{{"name", "a"}, {"image", "x"}}, {{"name", "b"}}}}},
       {{"containers",
         {{{"name", "b"}}, {{"name", "injected"}}, {{"name", "a"}, {"image", "x"}, {"more", 1}}}}},
       true},
      {"a container is gone",
       {{"containers", {{{"name", "a"}}}}},
       {{"containers", {{{"name", "b"}}}}},
       false},
      {"a container changed",
       {{"containers", {{{"name", "a"}, {"image", "x"}}}}},
       {{"containers", {{{"name", "a"}, {"image", "y"}}}}},
       false},
      {"ports by port and protocol",
       {{"ports", {{{"port", 53}, {"protocol", "UDP"}}, {{"port", 53}, {"protocol", "TCP"}}}}},
       {{"ports",
         {{{"port", 53}, {"protocol", "TCP"}},
          {{"port", 53}, {"protocol", "UDP"}, {"nodePort", 1}}}}},
       true},
      {"a port changed its protocol",
       {{"ports", {{{"port", 53}, {"protocol", "UDP"}}}}},
       {{"ports", {{{"port", 53}, {"protocol", "TCP"}}}}},
       false},
      {"other lists as a whole", {{"args", {"a", "b"}}}, {{"args", {"a", "b", "c"}}}, false},
      {"other lists in their order", {{"args", {"a", "b"}}}, {{"args", {"b", "a"}}}, false},
      {"a rule more is a difference",
       {{"rules", {{{"host", "a"}}}}},
       {{"rules", {{{"host", "a"}}, {{"host", "b"}}}}},
       false},
      {"another kind of value", {{"a", {{"b", 1}}}}, {{"a", "b"}}, false},
  };
  for (const Case& one : cases) {
    INFO(one.about);
    CHECK(is_subset(one.desired, one.live) == one.subset);
  }
}

TEST_CASE("fields that berth's manager owns and desired doesn't have are a difference") {
  const json desired = {
      {"metadata", {{"labels", {{"a", "1"}}}}},
      {"spec", {{"ports", {{{"port", 80}, {"protocol", "TCP"}}}}, {"list", {"x", 1}}}}};
  const auto holds = [&](const json& fields) {
    return holds_unwanted_fields(desired, with_manager(json::object(), fields));
  };
  CHECK_FALSE(holds({{"f:metadata", {{"f:labels", {{"f:a", json::object()}}}}}}));
  CHECK(holds({{"f:metadata", {{"f:labels", {{"f:b", json::object()}}}}}}));
  CHECK(holds({{"f:spec", {{"f:gone", json::object()}}}}));
  CHECK_FALSE(holds({{"f:spec",
                      {{"f:ports",
                        {{".", json::object()},
                         {"k:{\"port\":80,\"protocol\":\"TCP\"}",
                          {{".", json::object()}, {"f:port", json::object()}}}}}}}}));
  CHECK(holds(
      {{"f:spec",
        {{"f:ports", {{"k:{\"port\":81,\"protocol\":\"TCP\"}", {{".", json::object()}}}}}}}}));
  CHECK(
      holds({{"f:spec",
              {{"f:ports",
                {{"k:{\"port\":80,\"protocol\":\"TCP\"}", {{"f:nodePort", json::object()}}}}}}}}));
  CHECK_FALSE(
      holds({{"f:spec", {{"f:list", {{"v:\"x\"", json::object()}, {"v:1", json::object()}}}}}}));
  CHECK(holds({{"f:spec", {{"f:list", {{"v:\"y\"", json::object()}}}}}}));
}

TEST_CASE("fields of other managers aren't a difference") {
  const json fields = {{"f:spec", {{"f:other", json::object()}}}};
  CHECK_FALSE(
      holds_unwanted_fields(json::object(), with_manager(json::object(), fields, "kubectl")));
  CHECK_FALSE(holds_unwanted_fields(json::object(),
                                    with_manager(json::object(), fields, "berth", "Update")));
  CHECK_FALSE(holds_unwanted_fields(json::object(), json::object()));
  CHECK(holds_unwanted_fields(json::object(), with_manager(json::object(), fields)));
}

TEST_CASE("fields that the server adds aren't a difference") {
  for (const json& desired : all_objects()) {
    INFO(desired["kind"]);
    CHECK_FALSE(differs(desired, desired));
    CHECK_FALSE(differs(desired, grown(desired)));
    CHECK(differs(desired, json::object()));
  }
}

TEST_CASE("any change in one of berth's objects is a difference") {
  const auto objects = all_objects();
  CHECK(rc::check([&] {
    const json desired = *rc::gen::elementOf(objects);
    std::vector<json::json_pointer> scalars;
    collect_scalars(desired, json::json_pointer(), scalars);
    const auto at = *rc::gen::elementOf(scalars);
    json live = grown(desired);
    if (*rc::gen::arbitrary<bool>())
      live[at] = "somebody else's";
    else if (at.back() != "0" && live[at.parent_pointer()].is_object())
      live[at.parent_pointer()].erase(at.back());
    else
      live[at] = nullptr;
    RC_ASSERT(differs(desired, live));
  }));
}
