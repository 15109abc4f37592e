#include <catch2/catch.hpp>
#include <random>

#include "controller/base/shares.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/domains.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using custom_domains::Reason;
using custom_domains::State;
using deployments::Status;

// Custom domains with a cert-manager that issues, doesn't issue or doesn't exist, and with DNS
// records that change.

namespace {

const std::string domain = "www.shop.example";
const std::string target = "shop.apps.example";

struct Shop {
  Dns dns;
  embedded::Cluster cluster{quick()};
  DomainWorld world{config_of(cluster), dns};
  std::string id;

  void open() {
    world.wake();
    id = world.deploy_with(world.new_app(), domain);
  }
  void open_pointing() {
    dns.point(domain, target);
    open();
    REQUIRE(world.becomes(id, State::active));
    REQUIRE(world.is(id, Status::running));
  }
  size_t orders() const { return cluster.certificate_orders().size(); }
};

}  // namespace

TEST_CASE("a domain becomes active, with the secret that its Ingress names") {
  Shop shop;
  shop.open_pointing();
  const auto claim = shop.world.claim(shop.id);
  CHECK_FALSE(claim.reason.has_value());
  CHECK(claim.expires_at.has_value());
  CHECK(claim.renews_at < claim.expires_at);
  const Object secret = shop.world.of_domain(kube::secrets, shop.id).at(0);
  const Object ingress = shop.world.of_domain(kube::ingresses, shop.id).at(0);
  CHECK(ingress["spec"]["tls"][0]["secretName"] == name_of(secret));
  CHECK(shop.orders() == 1);
  CHECK_FALSE(shop.world.row(shop.id).reason.has_value());
}

TEST_CASE(
    "a refused certificate has the issuer's words, is no longer ordered, and is tried again "
    "later") {
  Shop shop;
  shop.cluster.refuse_certificates("order is in \"invalid\" state: 403");
  shop.dns.point(domain, target);
  shop.open();
  REQUIRE(shop.world.becomes(shop.id, State::failed));
  const auto claim = shop.world.claim(shop.id);
  CHECK(claim.reason == Reason::certificate_failed);
  CHECK(claim.message.value().find("order is in \"invalid\" state: 403") != std::string::npos);
  CHECK(shop.world.has_nothing_of_domain(shop.id));
  REQUIRE(shop.world.is(shop.id, Status::running));
  CHECK(eventually(
      [&] { return shop.world.row(shop.id).reason == deployments::Reason::certificate_failed; }));
  shop.cluster.refuse_certificates("");
  CHECK(shop.world.becomes(shop.id, State::active));
  CHECK(shop.orders() == 2);
}

TEST_CASE("an owner whose orders are used up waits, and says so") {
  Shop shop;
  shop.cluster.refuse_certificates("no");
  shop.dns.point(domain, target);
  shop.open();
  REQUIRE(shop.world.is_refused(shop.id, Reason::order_budget));
  const size_t orders = shop.orders();
  CHECK(orders <= size_t(certificate_orders::per_domain_and_week));
  CHECK(shop.world.claim(shop.id).state == State::failed);
  CHECK(shop.world.has_nothing_of_domain(shop.id));
}

TEST_CASE("a failing DNS says nothing: no Certificate is created or removed") {
  Shop shop;
  SECTION("before") {
    shop.dns.fail();
    shop.open();
    REQUIRE(shop.world.is_refused(shop.id, Reason::dns_unreachable));
    CHECK(shop.world.has_nothing_of_domain(shop.id));
  }
  SECTION("afterwards") {
    shop.open_pointing();
    shop.dns.fail();
    REQUIRE(shop.world.is_refused(shop.id, Reason::dns_unreachable));
    REQUIRE(shop.world.settles());
    CHECK(shop.world.claim(shop.id).state == State::active);
    CHECK(shop.world.of_domain(kube::certificates, shop.id).size() == 1);
    CHECK_FALSE(shop.world.row(shop.id).reason);
  }
}

TEST_CASE("a domain that points elsewhere isn't renewed: its certificate serves until it expires") {
  Shop shop;
  shop.open_pointing();
  shop.dns.set({dns::test::alias(domain, "elsewhere.example")});
  REQUIRE(shop.world.is_refused(shop.id, Reason::dns_not_pointing));
  CHECK(shop.world.claim(shop.id).state == State::active);
  const Instant near = shop.world.claim(shop.id).renews_at.value() - custom_domains::renewal_guard;
  shop.world.clock().advance(near - shop.world.clock().now());
  REQUIRE(shop.world.becomes(shop.id, State::waiting_for_dns));
  CHECK(shop.world.clock().now() < shop.world.claim(shop.id).renews_at);
  CHECK(eventually([&] { return shop.world.of_domain(kube::certificates, shop.id).empty(); }));
  CHECK(shop.world.of_domain(kube::secrets, shop.id).size() == 1);
  CHECK(shop.world.of_domain(kube::ingresses, shop.id).size() == 1);
  SECTION("it comes back in time: the same certificate, and no order") {
    shop.dns.point(domain, target);
    CHECK(shop.world.becomes(shop.id, State::active));
    CHECK(shop.orders() == 1);
  }
  SECTION("it doesn't") {
    shop.world.clock().advance(std::chrono::hours(24 * 91));
    shop.world.look_again(shop.id);
    CHECK(shop.world.has_nothing_of_domain(shop.id));
    CHECK(shop.orders() == 1);
  }
}

TEST_CASE(
    "a Certificate that somebody removed is created again only if the DNS still points to the "
    "platform") {
  Shop shop;
  shop.open_pointing();
  const auto remove = [&] {
    const Object certificate = shop.world.of_domain(kube::certificates, shop.id).at(0);
    const Object secret = shop.world.of_domain(kube::secrets, shop.id).at(0);
    shop.cluster.remove("certificates", namespace_of(certificate), name_of(certificate));
    shop.cluster.remove("secrets", namespace_of(secret), name_of(secret));
  };
  SECTION("it does") {
    remove();
    CHECK(eventually([&] { return shop.orders() == 2; }));
  }
  SECTION("it doesn't") {
    shop.dns.set({});
    remove();
    REQUIRE(shop.world.is_refused(shop.id, Reason::dns_not_pointing));
    REQUIRE(shop.world.settles());
    CHECK(shop.orders() == 1);
    CHECK(shop.world.of_domain(kube::certificates, shop.id).empty());
  }
}

TEST_CASE("a cluster without cert-manager is reported, runs deployments, and may get one later") {
  Shop shop;
  const embedded::Match certificates{.verb = "", .plural = "certificates"};
  shop.cluster.fail_next(1'000'000, 404, std::nullopt, certificates);
  shop.dns.point(domain, target);
  shop.open();
  REQUIRE(shop.world.is(shop.id, Status::running));
  REQUIRE(shop.world.is_refused(shop.id, Reason::certificate_failed));
  CHECK(shop.world.claim(shop.id).message ==
        "the cluster has no cert-manager, which would issue certificates");
  CHECK(shop.world.engine().cluster_state().connected);
  const size_t asked = shop.cluster.count("list", "certificates");
  REQUIRE(shop.world.settles());
  CHECK(shop.cluster.count("list", "certificates") <= asked + 1);
  shop.world.destroy(shop.id);
  CHECK(shop.world.is_removed(shop.id));
}

TEST_CASE(
    "sub-domains have a certificate each if there is no wildcard, and it is removed with them") {
  Shop shop;
  shop.world.settings().wildcard_tls_secret.reset();
  shop.world.wake();
  const std::string id = shop.world.deploy(shop.world.new_app());
  REQUIRE(shop.world.is(id, Status::running));
  REQUIRE(eventually([&] { return shop.cluster.certificate_orders().size() == 1; }));
  CHECK(shop.cluster.certificate_orders().at(0) == target);
  const Object ingress = shop.world.object(kube::ingresses, id);
  CHECK(ingress["spec"]["tls"][0]["secretName"] == name_of(ingress).append("-tls"));
  REQUIRE(shop.world.settles());
  CHECK(shop.world.objects(kube::secrets, id).size() == 2);
  const int before = shop.world.writes();
  shop.world.sleep();
  shop.world.wake();
  REQUIRE(shop.world.settles());
  CHECK(shop.world.writes() == before);
  shop.world.destroy(id);
  CHECK(shop.world.is_removed(id));
  CHECK(shop.orders() == 1);
}

TEST_CASE(
    "whatever happens, no certificate is ordered while the DNS doesn't point to the platform") {
  Shop shop;
  const auto seed = GENERATE(take(3, random(1, 1'000'000)));
  INFO("seed " << seed);
  std::mt19937 random{unsigned(seed)};
  shop.open();
  std::string id = shop.id;
  const auto leave = [&] {
    switch (random() % 3) {
      case 0:
        return shop.dns.set({});
      case 1:
        return shop.dns.point(domain, "elsewhere.example");
      default:
        return shop.dns.fail();
    }
  };
  const auto disturb = [&] {
    switch (random() % 6) {
      case 0:
        shop.world.sleep();
        return shop.world.wake();
      case 1:
        return shop.world.restart(id);
      case 2:
        return shop.world.claim(id, domain);
      case 3:
        return shop.cluster.drop_watches();
      case 4:
        shop.world.release(id);
        return shop.world.claim(id, domain);
      default:
        for (const Object& one : shop.world.of_domain(kube::certificates, id))
          shop.cluster.remove("certificates", namespace_of(one), name_of(one));
    }
  };
  for (int round = 0; round < 4; ++round) {
    leave();
    // A pass that began earlier may still be running.
    REQUIRE(shop.world.settles());
    const size_t orders = shop.orders();
    for (int i = 0; i < 5; ++i) {
      disturb();
      shop.world.look_again(id);
    }
    REQUIRE(shop.world.settles());
    CHECK(shop.orders() == orders);
    if (random() % 2 == 0) {
      shop.dns.point(domain, target);
      CHECK(shop.world.looks_until(id, [&] {
        const auto state = shop.world.claim(id).state;
        return state == State::active || state == State::failed;
      }));
    }
  }
}

TEST_CASE("an owner whose name servers are silent doesn't hold up others' domains",
          "[pool:domain_checks]") {
  Shop shop;
  shop.world.options.dns.patience = shop.world.options.dns.deadline = std::chrono::minutes(5);
  shop.dns.point(domain, target);
  shop.world.wake();
  const std::string mallory = shop.world.new_app();
  for (int i = 0; i < 20; ++i)
    shop.world.deploy_with(mallory, Dns::silent + std::to_string(i) + ".shop.example",
                           {.name = "slow-" + std::to_string(i)});
  REQUIRE(eventually([] { return figures_of(Pool::domain_checks).used == 12; }));
  shop.id = shop.world.deploy_with(shop.world.new_app(), domain);
  CHECK(shop.world.becomes(shop.id, State::active));
  CHECK(figures_of(Pool::domain_checks).used == 12);
}
