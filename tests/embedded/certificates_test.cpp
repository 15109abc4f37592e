#include <catch2/catch.hpp>

#include "controller/base/crypto.h"
#include "tests/embedded/support.h"

using namespace berth;
using namespace berth::embedded;
using namespace berth::embedded::tests;

// What the simulated cert-manager does with Certificates.

namespace {

Json certificate() {
  return {{"apiVersion", "cert-manager.io/v1"},
          {"kind", "Certificate"},
          {"metadata", {{"name", "shop"}, {"namespace", "apps"}}},
          {"spec",
           {{"secretName", "shop-tls"},
            {"dnsNames", {"shop.example"}},
            {"issuerRef", {{"name", "any"}, {"kind", "ClusterIssuer"}}},
            {"secretTemplate", {{"labels", {{"owner", "me"}}}}}}}};
}

Json condition(const World& world, const std::string& type) {
  const auto live = world.cluster.get("certificates", "apps", "shop");
  for (const Json& one : at_path(live.value(), "/status/conditions"))
    if (one["type"] == type) return one;
  return nullptr;
}

bool is_ready(const World& world) {
  return World::wait([&] {
    const Json ready = condition(world, "Ready");
    return !ready.is_null() && ready["status"] == "True";
  });
}

}  // namespace

TEST_CASE("a certificate becomes ready, and its secret exists") {
  World world;
  world.cluster.put(certificate());
  REQUIRE(is_ready(world));
  CHECK(condition(world, "Ready")["message"] == "Certificate is up to date and has not expired");
  CHECK(condition(world, "Issuing").is_null());
  const Json live = *world.cluster.get("certificates", "apps", "shop");
  CHECK(live["status"]["revision"] == 1);
  CHECK(live["status"]["renewalTime"] < live["status"]["notAfter"]);
  const auto secret = world.cluster.get("secrets", "apps", "shop-tls");
  REQUIRE(secret);
  CHECK((*secret)["type"] == "kubernetes.io/tls");
  CHECK((*secret)["metadata"]["labels"]["owner"] == "me");
  const std::string pem = parse_base64(std::string((*secret)["data"]["tls.crt"])).value();
  CHECK(pem.starts_with("-----BEGIN CERTIFICATE-----"));
  CHECK(world.cluster.certificate_orders() == std::vector<std::string>{"shop.example"});
}

TEST_CASE("a matching secret is used without an order; a missing one is ordered again") {
  World world;
  world.cluster.put(certificate());
  REQUIRE(is_ready(world));
  REQUIRE(world.cluster.remove("certificates", "apps", "shop"));
  CHECK(world.cluster.get("secrets", "apps", "shop-tls"));
  world.cluster.put(certificate());
  REQUIRE(is_ready(world));
  CHECK(world.cluster.certificate_orders().size() == 1);
  REQUIRE(world.cluster.remove("secrets", "apps", "shop-tls"));
  CHECK(World::wait([&] { return world.cluster.get("secrets", "apps", "shop-tls").has_value(); }));
  CHECK(world.cluster.certificate_orders().size() == 2);
}

TEST_CASE("a failing order says why and isn't repeated at once") {
  World world;
  world.cluster.refuse_certificates("order is in \"invalid\" state: ");
  world.cluster.put(certificate());
  REQUIRE(World::wait([&] {
    const Json issuing = condition(world, "Issuing");
    return !issuing.is_null() && issuing["status"] == "False";
  }));
  CHECK(condition(world, "Issuing")["reason"] == "Failed");
  CHECK(condition(world, "Issuing")["message"] ==
        "The certificate request has failed to complete and will be retried: order is in "
        "\"invalid\" state: ");
  CHECK(condition(world, "Ready")["status"] == "False");
  const Json live = *world.cluster.get("certificates", "apps", "shop");
  CHECK(live["status"]["failedIssuanceAttempts"] == 1);
  CHECK_FALSE(world.cluster.get("secrets", "apps", "shop-tls"));
  world.cluster.patch("certificates", "apps", "shop", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  CHECK(World::wait([&] { return condition(world, "Issuing")["status"] == "False"; }));
  CHECK(world.cluster.certificate_orders().size() == 1);
}
