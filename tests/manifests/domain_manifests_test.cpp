#include <catch2/catch.hpp>

#include "manifests/manifests.h"
#include "tests/manifests/shop.h"

using namespace berth;
using manifests::Object;
using test::shop;

namespace {

manifests::Settings settings() {
  manifests::Settings settings;
  settings.instance = "instance-1";
  settings.apps_domain = "apps.example";
  settings.ingress_class = "traefik";
  settings.cluster_issuer = "letsencrypt";
  return settings;
}

}  // namespace

TEST_CASE(
    "a custom domain's Ingress leads to the deployment's service, its TLS to the certificate") {
  const auto& row = shop().deployment;
  const Object ingress = manifests::domain_ingress(row, "www.shop.example", settings());
  const Object certificate = manifests::domain_certificate(row, "www.shop.example", settings());
  CHECK(ingress["spec"]["rules"][0]["host"] == "www.shop.example");
  CHECK(ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] ==
        manifests::object_name(row.id));
  CHECK(ingress["spec"]["tls"][0]["hosts"] == Object::array({"www.shop.example"}));
  CHECK(ingress["spec"]["tls"][0]["secretName"] == certificate["spec"]["secretName"]);
  CHECK(certificate["spec"]["dnsNames"] == Object::array({"www.shop.example"}));
  CHECK(certificate["spec"]["issuerRef"]["name"] == "letsencrypt");
  CHECK(certificate["spec"]["issuerRef"]["kind"] == "ClusterIssuer");
  CHECK(certificate["metadata"]["labels"] == ingress["metadata"]["labels"]);
  CHECK(certificate["spec"]["secretTemplate"]["labels"] == certificate["metadata"]["labels"]);
  CHECK(certificate["metadata"]["labels"]["berth/deployment"] == row.id);
  CHECK(certificate["metadata"]["labels"]["app.kubernetes.io/component"] == "domain");
}

TEST_CASE("two domains of a deployment share no object with each other or with the deployment") {
  const auto& row = shop().deployment;
  const std::string one = manifests::domain_object_name(row.id, "www.shop.example");
  const std::string other = manifests::domain_object_name(row.id, "shop.example");
  CHECK(one != other);
  CHECK(one != manifests::object_name(row.id));
  CHECK(one.size() <= 63);  // the limit of cert-manager's labels, which contain it (RFC 1123)
  CHECK(manifests::domain_secret_name(row.id, "www.shop.example") == one + "-tls");
}

TEST_CASE(
    "a sub-domain has its own certificate only if there is an issuer and no wildcard certificate") {
  const auto kinds = [](const manifests::Settings& settings) {
    std::vector<std::string> all;
    for (const Object& object : manifests::of_deployment(shop(), settings))
      all.push_back(object["kind"]);
    return all;
  };
  const std::vector<std::string> plain = {"Service", "Deployment", "Ingress"};
  auto changed = settings();
  auto with_certificate = plain;
  with_certificate.emplace_back("Certificate");
  CHECK(kinds(changed) == with_certificate);
  const auto objects = manifests::of_deployment(shop(), changed);
  CHECK(objects[2]["spec"]["tls"][0]["secretName"] == objects[3]["spec"]["secretName"]);
  CHECK(objects[3]["spec"]["dnsNames"] == Object::array({"shop.apps.example"}));
  CHECK_FALSE(objects[3]["metadata"]["labels"].contains("app.kubernetes.io/component"));
  changed.wildcard_tls_secret = "ingress/wildcard";
  CHECK(kinds(changed) == plain);
  changed.wildcard_tls_secret.reset();
  changed.cluster_issuer.reset();
  CHECK(kinds(changed) == plain);
  CHECK_FALSE(manifests::of_deployment(shop(), changed)[2]["spec"].contains("tls"));
}
