#include <catch2/catch.hpp>

#include "tests/reconcilers/cluster.h"
#include "tests/reconcilers/domains.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using custom_domains::Reason;
using custom_domains::State;
using deployments::Status;

// Custom domains on whichever cluster the tests are given. Its cert-manager may or may not have the
// issuer: these tests ask for Certificates but not for their results.

namespace {

struct Shop {
  Dns dns;
  TestCluster cluster;
  DomainWorld world{cluster.config(), dns};
  std::string id;

  explicit Shop(const std::string& domain = "www.shop.example") {
    world.wake();
    id = world.deploy_with(world.new_app(), domain);
  }
  bool has_certificate() {
    return eventually([&] { return world.of_domain(kube::certificates, id).size() == 1; });
  }
};

}  // namespace

TEST_CASE(
    "a domain that doesn't point to the platform gets no Certificate, and its owner is told what "
    "is missing") {
  Shop shop;
  REQUIRE(shop.world.is_refused(shop.id, Reason::dns_not_pointing));
  for (int i = 0; i < 5; ++i) shop.world.look_again(shop.id);
  REQUIRE(shop.world.settles());
  CHECK(shop.world.has_nothing_of_domain(shop.id));
  const auto claim = shop.world.claim(shop.id);
  CHECK(claim.state == State::waiting_for_dns);
  CHECK(claim.message ==
        "a CNAME record www.shop.example that leads to shop.apps.example is missing: there is no "
        "such "
        "name: www.shop.example");
  REQUIRE(shop.world.is(shop.id, Status::running));
  CHECK(eventually(
      [&] { return shop.world.row(shop.id).reason == deployments::Reason::dns_not_pointing; }));
  CHECK(shop.world.row(shop.id).message == claim.message);
}

TEST_CASE(
    "a domain that points to the platform gets an Ingress and a Certificate, also after a "
    "correction") {
  Shop shop;
  REQUIRE(shop.world.is_refused(shop.id, Reason::dns_not_pointing));
  shop.dns.point("www.shop.example", "shop.apps.example");
  shop.world.look_again(shop.id);
  REQUIRE(shop.has_certificate());
  const Object certificate = shop.world.of_domain(kube::certificates, shop.id).front();
  CHECK(certificate["spec"]["dnsNames"] == Object::array({"www.shop.example"}));
  CHECK(certificate["spec"]["issuerRef"]["name"] == "issuer-of-the-tests");
  const Object ingress = shop.world.of_domain(kube::ingresses, shop.id).front();
  CHECK(ingress["spec"]["rules"][0]["host"] == "www.shop.example");
  CHECK(ingress["spec"]["tls"][0]["secretName"] == certificate["spec"]["secretName"]);
  CHECK(eventually([&] { return !shop.world.row(shop.id).reason.has_value(); }));
}

TEST_CASE("nothing is written if nothing changed, also after a restart of berthd") {
  Shop shop;
  shop.dns.point("www.shop.example", "shop.apps.example");
  REQUIRE(shop.world.looks_until(shop.id, [&] { return shop.has_certificate(); }));
  REQUIRE(shop.world.is(shop.id, Status::running));
  REQUIRE(shop.world.settles());
  const int before = shop.world.writes();
  shop.world.sleep();
  shop.world.wake();
  REQUIRE(shop.world.settles());
  CHECK(shop.world.writes() == before);
}

TEST_CASE("a released or replaced domain leaves nothing") {
  Shop shop;
  shop.dns.set({dns::test::alias("www.shop.example", "shop.apps.example"),
                dns::test::alias("new.shop.example", "shop.apps.example"),
                dns::test::address("shop.apps.example", "192.0.2.80")});
  REQUIRE(shop.world.looks_until(shop.id, [&] { return shop.has_certificate(); }));
  SECTION("released") {
    shop.world.release(shop.id);
    CHECK(shop.world.has_nothing_of_domain(shop.id));
    CHECK(shop.world.objects(kube::ingresses, shop.id).size() == 1);
  }
  SECTION("exchanged") {
    shop.world.claim(shop.id, "new.shop.example");
    CHECK(shop.world.looks_until(shop.id, [&] {
      const auto all = shop.world.of_domain(kube::certificates, shop.id);
      return all.size() == 1 && all[0]["spec"]["dnsNames"][0] == "new.shop.example";
    }));
    CHECK(eventually([&] { return shop.world.of_domain(kube::ingresses, shop.id).size() == 1; }));
  }
  SECTION("there and back") {
    shop.world.claim(shop.id, "new.shop.example");
    shop.world.claim(shop.id, "www.shop.example");
    CHECK(shop.world.looks_until(shop.id, [&] {
      const auto all = shop.world.of_domain(kube::certificates, shop.id);
      return all.size() == 1 && all[0]["spec"]["dnsNames"][0] == "www.shop.example" &&
             shop.world.claim(shop.id).state != State::waiting_for_dns;
    }));
  }
  SECTION("with its deployment") {
    shop.world.destroy(shop.id);
    CHECK(shop.world.is_removed(shop.id));
    CHECK(shop.world.has_nothing_of_domain(shop.id));
    CHECK(eventually([&] {
      return shop.world.database().read(
          [&](db::Tx& tx) { return custom_domains::leaving(tx, shop.id).empty(); });
    }));
  }
}

TEST_CASE(
    "a domain passes on: the first owner's objects are gone before the second one's are created") {
  Shop shop;
  shop.dns.set({dns::test::alias("www.shop.example", "shop.apps.example"),
                dns::test::address("shop.apps.example", "192.0.2.80")});
  REQUIRE(shop.world.looks_until(shop.id, [&] { return shop.has_certificate(); }));
  shop.world.destroy(shop.id);
  const std::string heir = shop.world.deploy_with(shop.world.new_app(), "www.shop.example");
  REQUIRE(shop.world.is_removed(shop.id));
  // The same name: the old CNAME points to the new owner, which alone proves nothing.
  REQUIRE(shop.world.is_refused(heir, Reason::txt_missing));
  CHECK(shop.world.has_nothing_of_domain(heir));
  shop.dns.set({dns::test::alias("www.shop.example", "shop.apps.example"),
                dns::test::address("shop.apps.example", "192.0.2.80"),
                dns::test::text("_berth-challenge.www.shop.example", {"berth=" + heir})});
  CHECK(shop.world.looks_until(
      heir, [&] { return shop.world.of_domain(kube::certificates, heir).size() == 1; }));
}

TEST_CASE("a registered domain itself is proven by a TXT record and the ingress' addresses") {
  Shop shop("shop.example");
  const auto target = dns::test::address("shop.apps.example", "192.0.2.80");
  const auto text = dns::test::text("_berth-challenge.shop.example", {"berth=" + shop.id});
  shop.dns.set({target, dns::test::address("shop.example", "192.0.2.80")});
  CHECK(shop.world.is_refused(shop.id, Reason::txt_missing));
  shop.dns.set({target, text, dns::test::address("shop.example", "192.0.2.80"),
                dns::test::address("shop.example", "198.51.100.1")});
  CHECK(shop.world.is_refused(shop.id, Reason::dns_not_pointing));
  CHECK(shop.world.has_nothing_of_domain(shop.id));
  shop.dns.set({target, text, dns::test::address("shop.example", "192.0.2.80")});
  CHECK(shop.world.looks_until(
      shop.id, [&] { return shop.world.of_domain(kube::certificates, shop.id).size() == 1; }));
}
