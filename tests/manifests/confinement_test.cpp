#include <algorithm>
#include <catch2/catch.hpp>

#include "manifests/manifests.h"
#include "tests/manifests/shop.h"

using namespace berth;
using manifests::Object;
using nlohmann::json;

// What keeps a container apart from other tenants, from the cluster and from the node.

namespace {

const manifests::Settings bare = {.instance = "instance-1",
                                  .apps_domain = "apps.example",
                                  .ingress_class = "traefik",
                                  .wildcard_tls_secret = {}};

deployments::DesiredState shop(const tiers::Confinement& confinement = {}) {
  deployments::DesiredState state = test::shop();
  state.secrets.env = {{"COLOR", "blue"}};
  state.confinement = confinement;
  return state;
}

const Object& only(const std::vector<Object>& objects, const std::string& kind) {
  const auto is_it = [&](const Object& object) { return object["kind"] == kind; };
  REQUIRE(std::ranges::count_if(objects, is_it) == 1);
  return *std::ranges::find_if(objects, is_it);
}

size_t count(const std::vector<Object>& objects, const std::string& kind) {
  return size_t(
      std::ranges::count_if(objects, [&](const Object& object) { return object["kind"] == kind; }));
}

std::vector<Object> in_namespace(const manifests::Settings& settings) {
  return manifests::of_namespace("app-1", test::size_of_one(512, 500), settings);
}

json policy(const manifests::Settings& settings) {
  return only(in_namespace(settings), "NetworkPolicy")["spec"];
}

json deployment_of(const deployments::DesiredState& state, const manifests::Settings& settings) {
  return only(manifests::of_deployment(state, settings), "Deployment");
}

json pod_of(const deployments::DesiredState& state, const manifests::Settings& settings = bare) {
  return deployment_of(state, settings)["spec"]["template"];
}

// The rules with an address block.
std::vector<json> rules_for_addresses(const json& spec) {
  std::vector<json> found;
  for (const json& rule : spec["egress"])
    if (rule.at("to").at(0).contains("ipBlock")) found.push_back(rule);
  return found;
}

bool has(const json& list, const json& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

TEST_CASE("containers reach public addresses alone, and no port 25") {
  auto settings = bare;
  settings.cluster_ranges = {*parse_address_range("198.51.101.0/24"),
                             *parse_address_range("2001:67c::/32")};
  const auto rules = rules_for_addresses(policy(settings));
  REQUIRE(rules.size() == 1);
  const json& ipv4 = rules[0]["to"][0]["ipBlock"];
  const json& ipv6 = rules[0]["to"][1]["ipBlock"];
  CHECK(ipv4["cidr"] == "0.0.0.0/0");
  CHECK(ipv6["cidr"] == "2000::/3");
  for (const char* closed : {"10.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32", "192.0.0.0/24",
                             "198.51.101.0/24", "224.0.0.0/4"})
    CHECK(has(ipv4["except"], closed));
  for (const char* closed : {"2001::/23", "2002::/16", "2001:67c::/32"})
    CHECK(has(ipv6["except"], closed));
  CHECK(rules[0]["ports"] == json::array({{{"protocol", "TCP"}, {"port", 1}, {"endPort", 24}},
                                          {{"protocol", "TCP"}, {"port", 26}, {"endPort", 65535}},
                                          {{"protocol", "UDP"}, {"port", 1}, {"endPort", 65535}}}));
}

TEST_CASE("ranges that close everything leave no rule, since one without peers allows everything") {
  auto settings = bare;
  settings.cluster_ranges = {*parse_address_range("0.0.0.0/0"), *parse_address_range("::/0")};
  const json spec = policy(settings);
  CHECK(spec["egress"].size() == 2);
  for (const json& rule : spec["egress"]) CHECK(!rule.at("to").empty());
  CHECK(count(manifests::of_deployment(shop({.runtime_class = {}, .smtp = true, .bandwidth = {}}),
                                       settings),
              "NetworkPolicy") == 0);
}

TEST_CASE("only the ingress controller's namespace reaches the container, and only its port") {
  auto settings = bare;
  settings.ingress_controller = {.name_space = "ingress", .ranges = {}, .ports = {8000, 8443}};
  const json peers = json::array(
      {{{"namespaceSelector", {{"matchLabels", {{"kubernetes.io/metadata.name", "ingress"}}}}}}});
  const json spec = policy(settings);
  REQUIRE(spec["ingress"].size() == 2);
  CHECK(spec["ingress"][0] == json({{"from", json::array({{{"podSelector", json::object()}}})}}));
  CHECK(spec["ingress"][1] ==
        json({{"from", peers}, {"ports", json::array({{{"protocol", "TCP"}, {"port", "http"}}})}}));
  const json ports =
      json::array({{{"protocol", "TCP"}, {"port", 8000}}, {{"protocol", "TCP"}, {"port", 8443}}});
  CHECK(has(spec["egress"], json({{"to", peers}, {"ports", ports}})));
}

TEST_CASE("an ingress controller on the nodes' network is known by their addresses") {
  auto settings = bare;
  settings.ingress_controller = {
      .name_space = "", .ranges = {*parse_address_range("10.1.2.3/24")}, .ports = {443}};
  const json spec = policy(settings);
  CHECK(spec["ingress"][1]["from"] == json::array({{{"ipBlock", {{"cidr", "10.1.2.0/24"}}}}}));
  CHECK(spec["egress"][2]["to"] == spec["ingress"][1]["from"]);
}

TEST_CASE("without a known ingress controller, no tenant's namespace reaches another one") {
  const json spec = policy(bare);
  const json& selector = spec["ingress"][1]["from"][0]["namespaceSelector"];
  CHECK(selector["matchExpressions"] == json::array({{{"key", "app.kubernetes.io/managed-by"},
                                                      {"operator", "NotIn"},
                                                      {"values", {"berth"}}}}));
  CHECK(spec["ingress"][1]["ports"] == json::array({{{"protocol", "TCP"}, {"port", "http"}}}));
  CHECK(spec["egress"].size() == 3);
}

TEST_CASE("a tier's confinement is in the pod, and nothing of it if the tier has none") {
  const json pod = pod_of(
      shop({.runtime_class = "gvisor", .user_namespaces = true, .smtp = false, .bandwidth = 50}));
  CHECK(pod["spec"]["runtimeClassName"] == "gvisor");
  CHECK(pod["spec"]["hostUsers"] == false);
  for (const char* direction : {"ingress", "egress"})
    CHECK(
        pod["metadata"]["annotations"][std::string("kubernetes.io/") + direction + "-bandwidth"] ==
        "50M");
  const json plain = pod_of(shop());
  for (const char* field :
       {"runtimeClassName", "hostUsers", "nodeSelector", "tolerations", "priorityClassName"})
    CHECK(!plain["spec"].contains(field));
  CHECK(!plain["metadata"]["annotations"].contains("kubernetes.io/egress-bandwidth"));
}

TEST_CASE("the pod of a tier without confinement is the one of earlier versions") {
  // Another hash would replace all containers of a platform when berthd is upgraded. Change it only
  // together with a line in the changelog that says so.
  const json pod = pod_of(shop());
  CHECK(pod["metadata"]["annotations"]["berth/template"] == "6de621bfbc5a4d6d937dfc55fc255100");
}

TEST_CASE("an app's namespace says which installation's it is") {
  auto settings = bare;
  const auto label = [&] {
    const auto objects = of_namespace("7", {}, settings);
    return objects.front()["metadata"]["labels"].value("berth/account", "");
  };
  CHECK(label().empty());
  settings.tenant_role = {.role = "r", .account_namespace = "berth", .account = "berth"};
  CHECK(label() == "berth.berth");
  // The chart cuts it in the same way.
  settings.tenant_role->account_namespace = std::string(62, 'n');
  CHECK(label() == std::string(62, 'n'));
}

TEST_CASE("containers run where they are meant to run") {
  auto settings = bare;
  settings.node_selector = {{"example.org/tenants", "yes"}};
  settings.tolerations = json::array({{{"key", "example.org/tenants"}, {"operator", "Exists"}}});
  settings.priority_class = "berth-tenants";
  const json spec = pod_of(shop(), settings)["spec"];
  CHECK(spec["nodeSelector"] == json({{"example.org/tenants", "yes"}}));
  CHECK(spec["tolerations"] == settings.tolerations);
  CHECK(spec["priorityClassName"] == "berth-tenants");
}

TEST_CASE("only the deployments of a tier with smtp may send mail themselves") {
  const auto objects =
      manifests::of_deployment(shop({.runtime_class = {}, .smtp = true, .bandwidth = {}}), bare);
  const Object& mail = only(objects, "NetworkPolicy");
  CHECK(mail["metadata"]["labels"]["berth/deployment"] == shop().deployment.id);
  CHECK(mail["spec"]["podSelector"]["matchLabels"] ==
        json({{"berth/deployment", shop().deployment.id}}));
  CHECK(mail["spec"]["egress"][0]["ports"] == json::array({{{"protocol", "TCP"}, {"port", 25}}}));
  CHECK(has(mail["spec"]["egress"][0]["to"][0]["ipBlock"]["except"], "10.0.0.0/8"));
  CHECK(count(manifests::of_deployment(shop(), bare), "NetworkPolicy") == 0);
}

TEST_CASE("the Deployment says which Secrets were written before it") {
  const auto hash = [](const deployments::DesiredState& state) {
    return deployment_of(state, bare)["metadata"]["annotations"]["berth/secrets"];
  };
  auto state = shop();
  const json before = hash(state);
  state.deployment.container.image = "ghcr.io/acme/shop:2";
  CHECK(hash(state) == before);
  state.deployment.rollout += 1;  // a restart repairs Secrets that somebody changed
  CHECK(hash(state) != before);
  state = shop();
  state.secrets.env["COLOR"] = "red";
  CHECK(hash(state) != before);
  state = shop();
  state.secrets.registry_credentials = {"robot", "s3cret"};
  CHECK(hash(state) != before);
  CHECK(deployment_of(state, bare).dump().find("s3cret") == std::string::npos);
}

TEST_CASE("berthd's rights come right behind the namespace, for its own account") {
  CHECK(count(in_namespace(bare), "RoleBinding") == 0);
  auto settings = bare;
  settings.tenant_role = {.role = "berth:tenant", .account_namespace = "berth", .account = "robot"};
  const auto objects = in_namespace(settings);
  const Object& binding = objects.at(1);
  CHECK(binding["kind"] == "RoleBinding");
  CHECK(binding["metadata"]["namespace"] == "berth-app-app-1");
  CHECK(binding["roleRef"]["name"] == "berth:tenant");
  CHECK(binding["subjects"] ==
        json::array({{{"kind", "ServiceAccount"}, {"name", "robot"}, {"namespace", "berth"}}}));
}
