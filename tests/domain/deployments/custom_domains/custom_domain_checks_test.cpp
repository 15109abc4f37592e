// What DNS checks and the issuer's answers do to a claim, and how many certificates may be ordered.
#include <catch2/catch.hpp>

#include "controller/domain/deployments/custom_domains/refused_certificates.h"
#include "tests/domain/deployments/custom_domains/custom_domains_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using custom_domains::Claim;
using custom_domains::Outcome;
using custom_domains::Reason;
using custom_domains::State;
using namespace std::chrono_literals;

constexpr Duration day = 24h;

struct Fixture : DomainWorld {
  deployments::Deployment row = deploy_at(adas, "shop", "www.example.com");
  Claim claim() { return claim_of(row.id); }
};

TEST_CASE("a platform without an issuer has one clear state, from every state before") {
  for (const State before : {State::waiting_for_dns, State::issuing, State::failed}) {
    INFO(to_string(before));
    Fixture f;
    if (before != State::waiting_for_dns) f.issuing(f.row.id);
    if (before == State::failed) f.fail(f.claim());
    REQUIRE(f.claim().state == before);
    const auto checked_at = f.claim().checked_at;
    f.check(f.claim(), Outcome::impossible, Reason::certificate_failed);
    CHECK(f.claim().state == State::failed);
    CHECK(f.claim().reason == Reason::certificate_failed);
    CHECK(f.claim().checked_at == checked_at);  // the DNS wasn't asked
    CHECK_FALSE(f.begin(f.claim()));
    // There is an issuer now.
    f.check(f.claim(), Outcome::proven);
    CHECK(f.begin(f.claim())->state == State::issuing);
    CHECK_FALSE(f.claim().reason);
  }
}

TEST_CASE("certificates are ordered only while a proof of the DNS is fresh") {
  Fixture f;
  CHECK_FALSE(f.begin(f.claim()));
  f.check(f.claim(), Outcome::refuted);
  CHECK_FALSE(f.begin(f.claim()));
  f.check(f.claim(), Outcome::proven);
  f.check(f.claim(), Outcome::unknown);
  CHECK_FALSE(f.begin(f.claim()));
  f.check(f.claim(), Outcome::proven);
  f.clock.advance(custom_domains::proof_holds + 1ms);
  CHECK_FALSE(f.begin(f.claim()));
  CHECK(f.orders() == 0);
  CHECK(f.claim().state == State::waiting_for_dns);
  f.check(f.claim(), Outcome::proven);
  CHECK(f.begin(f.claim())->state == State::issuing);
  CHECK_FALSE(f.begin(f.claim()));  // it is being issued already
  CHECK(f.orders() == 1);
}

TEST_CASE("a domain's way: waiting, issuing, active; its url and its log follow") {
  Fixture f;
  const auto refuted = f.check(f.claim(), Outcome::refuted).value();
  CHECK(refuted.state == State::waiting_for_dns);
  CHECK(refuted.reason == Reason::dns_not_pointing);
  CHECK(refuted.message == "no CNAME record");
  CHECK(refuted.checked_at == f.clock.now());
  const auto claim = f.issuing(f.row.id);
  CHECK_FALSE(claim.reason);
  CHECK_FALSE(f.find_deployment(f.row.id).served_domain);
  CHECK(f.activate(claim, 90 * day));
  CHECK_FALSE(f.activate(claim, 90 * day));  // it is the same certificate
  CHECK(f.claim().state == State::active);
  CHECK(f.claim().expires_at == f.clock.now() + 90 * day);
  CHECK(f.claim().renews_at == f.clock.now() + 60 * day);
  CHECK(f.find_deployment(f.row.id).served_domain == "www.example.com");
  CHECK(f.history(f.row.id) == "create succeeded, deploy info, deploy info, deploy succeeded");
  f.point(f.adas, f.row.id, std::nullopt);
  CHECK_FALSE(f.find_deployment(f.row.id).served_domain);
  CHECK_FALSE(f.activate(claim, 80 * day));  // it was released
}

TEST_CASE("checks are frequent at first, then ever rarer") {
  Fixture f;
  const auto interval = [&](Duration later) {
    f.clock.advance(later);
    f.check(f.claim(), Outcome::refuted);
    return f.claim().next_check_at - f.clock.now();
  };
  CHECK(interval(0s) == 5s);
  CHECK(interval(9min) == 5s);
  CHECK(interval(1min) == 30s);
  CHECK(interval(1h) == 5min);
  CHECK(interval(day) == 1h);
  CHECK(f.read([](db::Tx& tx) { return custom_domains::next_due(tx); }) == f.claim().next_check_at);
  CHECK(f.read([](db::Tx& tx) { return custom_domains::due(tx, 9); }).empty());
  f.clock.advance(1h);
  CHECK(f.read([](db::Tx& tx) { return custom_domains::due(tx, 9); }).size() == 1);
}

TEST_CASE("while a certificate is being issued, only a clear answer of the DNS cancels it") {
  Fixture f;
  f.issuing(f.row.id);
  CHECK(f.check(f.claim(), Outcome::unknown)->state == State::issuing);
  CHECK(f.check(f.claim(), Outcome::refuted)->state == State::waiting_for_dns);
}

TEST_CASE("an active domain is doubted first, and not renewed if the DNS points elsewhere") {
  Fixture f;
  f.activate(f.issuing(f.row.id), 90 * day);
  f.clock.advance(30 * day);
  const auto doubted = f.check(f.claim(), Outcome::refuted).value();
  CHECK(doubted.state == State::active);
  CHECK(doubted.reason == Reason::dns_not_pointing);
  CHECK_FALSE(f.check(f.claim(), Outcome::proven)->reason);
  f.clock.advance(30 * day - custom_domains::renewal_guard);
  SECTION("refuted before the renewal") {
    CHECK(f.check(f.claim(), Outcome::refuted)->state == State::waiting_for_dns);
    CHECK_FALSE(f.find_deployment(f.row.id).served_domain);
  }
  SECTION("no answer before the renewal") {
    CHECK(f.check(f.claim(), Outcome::unknown)->state == State::waiting_for_dns);
  }
  SECTION("proven before the renewal") {
    CHECK(f.check(f.claim(), Outcome::proven)->state == State::active);
    CHECK(f.orders() == 1);
    CHECK(f.activate(f.claim(), 90 * day));
    CHECK(f.orders() == 2);  // the renewal counts against the limits
  }
}

TEST_CASE("the check right before a renewal is never skipped") {
  Fixture f;
  f.activate(f.issuing(f.row.id), 3 * day);  // renewed after two days
  CHECK(f.claim().next_check_at == f.clock.now() + day);
  f.clock.advance(36h);
  f.check(f.claim(), Outcome::proven);
  CHECK(f.claim().next_check_at == *f.claim().renews_at - custom_domains::renewal_guard);
}

TEST_CASE("a refused certificate is requested again, ever later and within the limits") {
  Fixture f;
  for (const Duration pause : {15min, 30min, 60min}) {
    CHECK(f.fail(f.issuing(f.row.id), "429 too many requests"));
    CHECK(f.claim().state == State::failed);
    CHECK(f.claim().reason == Reason::certificate_failed);
    CHECK(f.claim().message == "429 too many requests");
    CHECK(f.claim().next_check_at == f.clock.now() + pause);
    CHECK_FALSE(f.fail(f.claim()));  // it isn't being issued any more
    f.clock.advance(pause);
  }
  CHECK(f.fail(f.issuing(f.row.id)));
  f.clock.advance(2h);
  const auto spent = f.issuing(f.row.id);  // would be a fifth order within the week
  CHECK(spent.state == State::failed);
  CHECK(spent.reason == Reason::order_budget);
  CHECK(spent.message->find("www.example.com") != std::string::npos);
  CHECK(f.orders() == certificate_orders::per_domain_and_week);
  CHECK(spent.next_check_at > f.clock.now() + 6 * day);
  f.clock.advance(spent.next_check_at - f.clock.now());
  CHECK(f.issuing(f.row.id).state == State::issuing);
}

TEST_CASE("a renewal that fails leaves the domain active until its certificate expires") {
  Fixture f;
  f.activate(f.issuing(f.row.id), 90 * day);
  f.clock.advance(70 * day);
  CHECK(f.fail(f.claim(), "refused"));
  CHECK(f.claim().state == State::active);
  CHECK(f.claim().reason == Reason::certificate_failed);
  CHECK_FALSE(f.fail(f.claim(), "refused"));  // it is recorded already
  f.clock.advance(20 * day);
  CHECK(f.fail(f.claim(), "refused"));
  CHECK(f.claim().state == State::failed);
}

TEST_CASE("long messages are cut") {
  Fixture f;
  f.fail(f.issuing(f.row.id), std::string(5'000, 'x'));
  CHECK(f.claim().message->size() == custom_domains::max_message_length);
}

struct Budget : DomainWorld {
  std::optional<certificate_orders::Refusal> take(const apps::App& app, const std::string& domain) {
    return write([&](db::Tx& tx) {
      return certificate_orders::take(
          tx, {.owner_id = app.owner_id, .app_id = app.id, .domain = domain});
    });
  }
  static std::string domain(int number) { return "www.example" + std::to_string(number) + ".com"; }
};

TEST_CASE("each operator has their own limit of orders, which recovers") {
  Budget b;
  const Instant start = b.clock.now();
  for (int i = 0; i < certificate_orders::per_owner_and_week; ++i) {
    CHECK_FALSE(b.take(b.adas, Budget::domain(i)));
    b.clock.advance(1min);
  }
  const auto refused = b.take(b.adas, Budget::domain(99));
  REQUIRE(refused);
  CHECK(refused->again_at == start + certificate_orders::week);
  CHECK_FALSE(b.take(b.eves, Budget::domain(99)));
  b.clock.advance(refused->again_at - b.clock.now());
  CHECK_FALSE(b.take(b.adas, Budget::domain(98)));
  CHECK(b.take(b.adas, Budget::domain(97)));
}

TEST_CASE("all names below a registered domain share a limit") {
  Budget b;
  for (int i = 0; i < certificate_orders::per_registered_domain_and_week; ++i)
    CHECK_FALSE(b.take(i % 2 == 0 ? b.adas : b.eves, "s" + std::to_string(i) + ".example.co.uk"));
  CHECK(b.take(b.adas, "more.example.co.uk"));
  CHECK_FALSE(b.take(b.adas, "more.example2.co.uk"));
}

TEST_CASE("the platform keeps orders for renewals") {
  Budget b;
  for (int i = 0; i < certificate_orders::on_platform; ++i)
    b.write([&](db::Tx& tx) {
      certificate_orders::note_renewal(
          tx, {.owner_id = b.ada.id, .app_id = b.adas.id, .domain = Budget::domain(i)});
    });
  const auto refused = b.take(b.eves, "www.example.org");
  REQUIRE(refused);
  CHECK(refused->again_at == b.clock.now() + certificate_orders::on_platform_window);
  b.clock.advance(certificate_orders::on_platform_window);
  CHECK_FALSE(b.take(b.eves, "www.example.org"));
}

TEST_CASE("failed validations have a limit of their own") {
  Budget b;
  // Apart from renewals, the limit on orders of a name is reached before the limit on its failures;
  // both are checked.
  static_assert(certificate_orders::failures_per_domain_and_hour < 5);
  for (int i = 0; i < certificate_orders::failures_per_domain_and_hour; ++i) {
    CHECK_FALSE(b.take(b.adas, "www.example.com"));
    b.write([](db::Tx& tx) {
      certificate_orders::note_result(tx, "www.example.com", certificate_orders::Result::failed);
    });
  }
  const auto refused = b.take(b.adas, "www.example.com");
  REQUIRE(refused);
  CHECK(refused->again_at == b.clock.now() + 1h);
  const auto counted = [&] { return b.read(custom_domains::refused_certificates); };
  CHECK(counted() == 1);
  CHECK_FALSE(b.take(b.adas, "www.example.org"));
  CHECK(counted() == 1);
  b.write([](db::Tx& tx) {
    certificate_orders::note_result(tx, "www.example.org", certificate_orders::Result::failed);
  });
  CHECK(counted() == 2);
  b.clock.advance(24h);
  CHECK(counted() == 0);
}

}  // namespace
