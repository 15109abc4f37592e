// Who owns which domain.
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <map>
#include <thread>

#include "controller/domain/deployments/custom_domains/domain_names.h"
#include "tests/domain/deployments/custom_domains/custom_domains_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using custom_domains::Outcome;
using custom_domains::Reason;
using custom_domains::Record;
using custom_domains::State;
using custom_domains::TxtReason;
using namespace std::chrono_literals;

constexpr Duration day = 24h;

TEST_CASE("a name has one spelling") {
  CHECK(domain_names::normalised("Shop.Example.COM.") == "shop.example.com");
  CHECK(domain_names::normalised("") == "");
  CHECK(domain_names::registered("a.b.example.co.uk") == "example.co.uk");
  CHECK(domain_names::is_apex("example.co.uk"));
  CHECK_FALSE(domain_names::is_apex("www.example.co.uk"));
  CHECK(domain_names::registered("co.uk") == "co.uk");
  CHECK(domain_names::refusal("bücher.example", "apps.example.org", "api.example.org") ==
        "must be in its xn-- form (punycode)");
}

TEST_CASE("a new deployment claims its domain, and is told what to set") {
  DomainWorld w;
  const auto row = w.deploy_at(w.adas, "shop", "WWW.Example.com.");
  CHECK(row.custom_domain == "www.example.com");
  CHECK_FALSE(row.served_domain);
  const auto claim = w.claim_of(row.id);
  CHECK(claim.domain == "www.example.com");
  CHECK(claim.owner_id == w.ada.id);
  CHECK(claim.app_id == w.adas.id);
  CHECK(claim.state == State::waiting_for_dns);
  CHECK_FALSE(claim.is_apex);
  CHECK_FALSE(claim.needs_txt());
  CHECK(custom_domains::records(claim, "apps.example.org") ==
        std::vector<Record>{{"CNAME", "www.example.com", "shop.apps.example.org"}});
  CHECK(w.read([](db::Tx& tx) { return custom_domains::due(tx, 10); }).size() == 1);
}

TEST_CASE("a registered domain itself needs proof by TXT, and addresses instead of a CNAME") {
  DomainWorld w;
  const auto row = w.deploy_at(w.adas, "shop", "example.com");
  const auto claim = w.claim_of(row.id);
  CHECK(claim.is_apex);
  CHECK(claim.needs_txt());
  const Record alias = {"ALIAS", "example.com", "shop.apps.example.org"};
  const Record txt = {"TXT", "_berth-challenge.example.com", "berth=" + row.id};
  CHECK(custom_domains::records(claim, "apps.example.org") == std::vector<Record>{alias, txt});
  const auto seen = w.write([&](db::Tx& tx) {
    return custom_domains::record_check(tx, claim.id, claim.generation,
                                        {.outcome = Outcome::refuted,
                                         .reason = Reason::txt_missing,
                                         .message = "no TXT record",
                                         .addresses = {"192.0.2.1", "2001:db8::1"}});
  });
  CHECK(custom_domains::records(*seen, "apps.example.org") ==
        std::vector<Record>{
            alias, {"A", "example.com", "192.0.2.1"}, {"AAAA", "example.com", "2001:db8::1"}, txt});
}

TEST_CASE("a taken domain is refused after the name, and leaves no row") {
  DomainWorld w;
  w.deploy_at(w.adas, "shop", "www.example.com");
  const auto refused = [&](const std::string& name, const std::string& domain) {
    return refusal([&] { w.deploy_at(w.eves, name, domain); });
  };
  CHECK(refused("shop", "www.example.com") == "409 subdomain_taken");
  CHECK(refused("mine", "www.example.com") == "409 domain_taken");
  CHECK(refused("mine", "WWW.example.com.") == "409 domain_taken");
  const auto own = w.deploy(w.eves, order("mine"));
  CHECK(refusal([&] { w.point(w.eves, own.id, "www.example.com"); }) == "409 domain_taken");
  CHECK_FALSE(w.find_deployment(own.id).custom_domain);
  CHECK_FALSE(w.living(own.id));
  CHECK(w.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM deployments"); }) == 2);
  // The same owner is refused as well: two deployments can't serve one domain.
  CHECK(refusal([&] { w.deploy_at(w.adas, "other", "www.example.com"); }) == "409 domain_taken");
}

TEST_CASE("a deleted deployment's domain is free, and its next owner has to prove it") {
  DomainWorld w;
  const auto first = w.deploy_at(w.adas, "shop", "www.example.com");
  w.destroy(w.adas, first.id);
  CHECK_FALSE(w.living(first.id));
  const auto second = w.deploy_at(w.eves, "shop", "www.example.com");
  CHECK(w.claim_of(second.id).needs_txt());
  CHECK(custom_domains::records(w.claim_of(second.id), "apps.example.org") ==
        std::vector<Record>{{"CNAME", "www.example.com", "shop.apps.example.org"},
                            {"TXT", "_berth-challenge.www.example.com", "berth=" + second.id}});
  // The new claim's objects wait until the old one's are removed from the cluster.
  const auto held = [&] {
    return w.read(
        [&](db::Tx& tx) { return custom_domains::domain_is_held(tx, w.claim_of(second.id)); });
  };
  CHECK(held());
  const auto leaving = w.read([&](db::Tx& tx) { return custom_domains::leaving(tx, first.id); });
  REQUIRE(leaving.size() == 1);
  w.write([&](db::Tx& tx) { custom_domains::mark_removed(tx, leaving[0].id); });
  CHECK_FALSE(held());
  CHECK(w.read([&](db::Tx& tx) { return custom_domains::leaving(tx, first.id); }).empty());
}

TEST_CASE("a domain that another owner ever used needs the TXT record, even years later") {
  DomainWorld w;
  const auto first = w.deploy_at(w.adas, "shop", "www.example.com");
  w.destroy(w.adas, first.id);
  w.clock.advance(3 * 365 * day);
  const auto own = w.deploy_at(w.adas, "again", "www.example.com");
  CHECK_FALSE(w.claim_of(own.id).txt_reason);  // one's own earlier use doesn't count
  w.destroy(w.adas, own.id);
  const auto second = w.deploy_at(w.eves, "other", "www.example.com");
  CHECK(w.claim_of(second.id).txt_reason == TxtReason::domain_used_before);
  w.destroy(w.eves, second.id);
  // By now, two owners have used it, so both need the TXT record.
  for (const auto* app : {&w.adas, &w.eves}) {
    const auto next = w.deploy_at(*app, "next", "www.example.com");
    CHECK(w.claim_of(next.id).txt_reason == TxtReason::domain_used_before);
    w.destroy(*app, next.id);
  }
}

TEST_CASE("a name that another owner ever used gives no domain through a forgotten CNAME") {
  DomainWorld w;
  // Ada's CNAME www.example.com -> shop.apps.example.org stays after the deployment is deleted.
  const auto first = w.deploy(w.adas, order("shop"));
  w.destroy(w.adas, first.id);
  w.clock.advance(31 * day);
  const auto taken = w.deploy_at(w.eves, "shop", "www.example.com");
  CHECK(w.claim_of(taken.id).txt_reason == TxtReason::name_used_before);
  CHECK(custom_domains::records(w.claim_of(taken.id), "apps.example.org").back() ==
        Record{"TXT", "_berth-challenge.www.example.com", "berth=" + taken.id});
  // Changing the deployment doesn't get around it.
  w.point(w.eves, taken.id, "shop.example.com");
  CHECK(w.claim_of(taken.id).txt_reason == TxtReason::name_used_before);
  w.destroy(w.eves, taken.id);
  w.clock.advance(31 * day);
  const auto back = w.deploy_at(w.adas, "shop", "blog.example.com");
  CHECK(w.claim_of(back.id).txt_reason == TxtReason::name_used_before);
  const auto fresh = w.deploy_at(w.eves, "fresh", "news.example.com");
  CHECK_FALSE(w.claim_of(fresh.id).txt_reason);
}

TEST_CASE("the history of names needs no rows of deployments or claims, and reveals no names") {
  DomainWorld w;
  const auto first = w.deploy_at(w.adas, "shop", "www.example.com");
  w.destroy(w.adas, first.id);
  const auto rows = [&](const char* where) {
    return w.read([&](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM used_names WHERE " + std::string(where));
    });
  };
  CHECK(rows("true") == 2);
  CHECK(rows("name_hash LIKE '%shop%' OR name_hash LIKE '%example%'") == 0);
  // There are as many rows as names, however often the names change owners.
  w.write([](db::Tx& tx) {
    for (const char* table : {"deployment_revisions", "deploy_logs", "deployment_billing",
                              "custom_domains", "deployments"})
      tx.execute("DELETE FROM " + std::string(table));
  });
  const auto second = w.deploy_at(w.eves, "shop", "blog.example.com");
  CHECK(w.claim_of(second.id).txt_reason == TxtReason::name_used_before);
  w.point(w.eves, second.id, "www.example.com");
  CHECK(w.claim_of(second.id).txt_reason == TxtReason::domain_used_before);
  CHECK(rows("true") == 3);
  CHECK(rows("owner_id IS NULL") == 2);
}

TEST_CASE("claiming another domain releases the old one; so does claiming none") {
  DomainWorld w;
  const auto row = w.deploy_at(w.adas, "shop", "a.example.com");
  CHECK(w.point(w.adas, row.id, "b.example.com").custom_domain == "b.example.com");
  CHECK(w.claim_of(row.id).domain == "b.example.com");
  const auto other = w.deploy_at(w.eves, "other", "a.example.com");
  CHECK(w.claim_of(other.id).needs_txt());
  CHECK_FALSE(w.point(w.adas, row.id, std::nullopt).custom_domain);
  CHECK_FALSE(w.living(row.id));
  CHECK_FALSE(w.read([&](db::Tx& tx) { return custom_domains::newest(tx, row.id); }));
  // Doing it again changes nothing.
  CHECK_FALSE(w.point(w.adas, row.id, std::nullopt).custom_domain);
}

TEST_CASE("claiming the same domain again checks it at once, and drops earlier results") {
  DomainWorld w;
  const auto row = w.deploy_at(w.adas, "shop", "www.example.com");
  const auto before = w.claim_of(row.id);
  w.check(before, Outcome::refuted);
  CHECK(w.claim_of(row.id).next_check_at > w.clock.now());
  w.clock.advance(2 * day);
  w.point(w.adas, row.id, "www.example.com");
  const auto again = w.claim_of(row.id);
  CHECK(again.id == before.id);
  CHECK(again.generation == before.generation + 1);
  CHECK(again.next_check_at == w.clock.now());
  CHECK_FALSE(w.check(before, Outcome::proven));
  CHECK_FALSE(w.claim_of(row.id).proven_at);
  // No further entry of the operator's.
  CHECK(w.history(row.id) == "create succeeded, deploy info");
}

TEST_CASE("a claim that the DNS refutes for a week gives way to another owner") {
  DomainWorld w;
  const auto squatter = w.deploy_at(w.eves, "squatter", "www.example.com");
  const auto claim = [&] { return w.deploy_at(w.adas, "shop", "www.example.com"); };
  const auto refused = [&] { return refusal(claim) == "409 domain_taken"; };
  w.clock.advance(30 * day);
  CHECK(refused());  // nobody has checked it, which is the platform's fault and not the owner's
  w.check(w.claim_of(squatter.id), Outcome::refuted);
  w.clock.advance(custom_domains::refuted_claim_holds - 1h);
  w.check(w.claim_of(squatter.id), Outcome::unknown);
  CHECK(refused());
  SECTION("that was proven in between") {
    w.check(w.claim_of(squatter.id), Outcome::proven);
    w.check(w.claim_of(squatter.id), Outcome::refuted);
    w.clock.advance(2h);
    CHECK(refused());
  }
  SECTION("that nobody has looked at lately") {
    w.clock.advance(2 * day);
    CHECK(refused());
  }
  SECTION("but not to the same owner's next deployment") {
    w.clock.advance(2h);
    CHECK(refusal([&] { w.deploy_at(w.eves, "again", "www.example.com"); }) == "409 domain_taken");
  }
  SECTION("and the next one proves it by TXT") {
    w.clock.advance(1h);
    const auto row = claim();
    CHECK(w.claim_of(row.id).needs_txt());
    CHECK_FALSE(w.living(squatter.id));
    const auto lost =
        w.read([&](db::Tx& tx) { return custom_domains::newest(tx, squatter.id); }).value();
    CHECK(lost.state == State::failed);
    CHECK(lost.reason == Reason::domain_taken);
    CHECK(w.find_deployment(squatter.id).custom_domain == "www.example.com");
    CHECK(refusal([&] { w.point(w.eves, squatter.id, "www.example.com"); }) == "409 domain_taken");
  }
}

TEST_CASE("claims and releases are audited and notified to the loop") {
  DomainWorld w;
  std::vector<std::string> heard;
  w.db.subscribe([&](db::Topic topic, const std::string& id) {
    if (topic == db::Topic::custom_domain) heard.push_back(id);
  });
  const auto row = w.deploy_at(w.adas, "shop", "www.example.com");
  CHECK(heard == std::vector<std::string>{row.id});
  w.destroy(w.adas, row.id);
  CHECK(heard == std::vector<std::string>{row.id, row.id});
  const auto audited = [&](const char* action) {
    return w.read([&](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM audit_log WHERE action = $1 AND target = $2", action,
                       row.id);
    });
  };
  CHECK(audited("domain.claim") == 1);
  CHECK(audited("domain.release") == 1);
}

TEST_CASE("if many claim a domain at the same time, one gets it") {
  DomainWorld w;
  constexpr int most = 8;
  std::vector<std::string> ids;
  for (int i = 0; i < most; ++i)
    ids.push_back(w.deploy(i % 2 == 0 ? w.adas : w.eves, order("app" + std::to_string(i))).id);
  std::atomic<int> won = 0, taken = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < most; ++i)
    threads.emplace_back([&, i] {
      const auto said = refusal(
          [&] { w.point(i % 2 == 0 ? w.adas : w.eves, ids[size_t(i)], "www.example.com"); });
      if (said.empty()) ++won;
      if (said == "409 domain_taken") ++taken;
    });
  threads.clear();
  CHECK(won == 1);
  CHECK(taken == most - 1);
}

enum class Step { claim, release, check, begin, activate, fail, remove, wait };

TEST_CASE(
    "whatever happens in whatever order, a domain has at most one live claim, and needs its TXT "
    "proof") {
  DomainWorld w;
  std::vector<deployments::Deployment> rows;
  for (const char* name : {"a", "b", "c", "d"})
    rows.push_back(w.deploy(rows.size() % 2 == 0 ? w.adas : w.eves, order(name)));
  int run = 0;
  CHECK(rc::check([&] {
    const std::string zone = "run" + std::to_string(++run) + ".example.com";
    std::map<std::string, std::string> holder;           // maps domains to deployments
    std::set<std::pair<std::string, std::string>> used;  // pairs of a domain and an owner
    const auto release = [&](const deployments::Deployment& row) {
      for (auto at = holder.begin(); at != holder.end(); ++at)
        if (at->second == row.id) {
          used.emplace(at->first, row.owner_id);
          holder.erase(at);
          return;
        }
    };
    for (const auto& row : rows) w.write([&](db::Tx& tx) { custom_domains::release(tx, row.id); });
    const auto steps = *rc::gen::container<std::vector<Step>>(rc::gen::element(
        Step::claim, Step::claim, Step::claim, Step::release, Step::check, Step::check, Step::begin,
        Step::activate, Step::fail, Step::remove, Step::wait));
    for (const Step step : steps) {
      const auto& row = rows[*rc::gen::inRange<size_t>(0, rows.size())];
      const auto claim = w.living(row.id);
      const std::string domain = std::string(1, char('x' + *rc::gen::inRange(0, 2))) + "." + zone;
      switch (step) {
        case Step::claim: {
          const bool taken = holder.contains(domain) && holder[domain] != row.id;
          const auto said = refusal([&] {
            w.write([&](db::Tx& tx) {
              custom_domains::claim(
                  tx, {.deployment_id = row.id, .app_id = row.app_id, .owner_id = row.owner_id},
                  domain, w.keys.data);
            });
          });
          RC_ASSERT(said == (taken ? "409 domain_taken" : ""));
          if (taken) break;
          const bool fresh = !holder.contains(domain);
          if (fresh) release(row);
          holder[domain] = row.id;
          bool foreign = false;
          for (const auto& [name, owner] : used) foreign |= name == domain && owner != row.owner_id;
          if (fresh) RC_ASSERT(w.claim_of(row.id).needs_txt() == foreign);
          break;
        }
        case Step::release:
          release(row);
          w.write([&](db::Tx& tx) { custom_domains::release(tx, row.id); });
          break;
        case Step::check:
          // Refuted claims give way after a week, which another test covers.
          if (claim)
            w.check(*claim, *rc::gen::arbitrary<bool>() ? Outcome::proven : Outcome::unknown);
          break;
        case Step::begin:
          if (claim) {
            const auto orders = w.orders();
            const auto now = w.begin(*claim);
            const bool proven = claim->proven_at &&
                                w.clock.now() - *claim->proven_at <= custom_domains::proof_holds;
            if (!proven) RC_ASSERT(!now);
            RC_ASSERT(w.orders() == orders + (now && now->state == State::issuing));
          }
          break;
        case Step::activate:
          if (claim) {
            const bool active = w.activate(*claim, 90 * day);
            RC_ASSERT(!active || claim->state == State::issuing || claim->state == State::active);
          }
          break;
        case Step::fail:
          if (claim) w.fail(*claim);
          break;
        case Step::remove:
          for (const auto& gone :
               w.read([&](db::Tx& tx) { return custom_domains::leaving(tx, row.id); }))
            w.write([&](db::Tx& tx) { custom_domains::mark_removed(tx, gone.id); });
          break;
        case Step::wait:
          w.clock.advance(*rc::gen::element<Duration>(30s, 2h, 20 * day));
          break;
      }
      std::map<std::string, std::string> living;
      std::set<std::string> served;
      for (const auto& each : rows) {
        if (const auto has = w.living(each.id))
          RC_ASSERT(living.emplace(has->domain, each.id).second);
        if (const auto host = w.find_deployment(each.id).served_domain)
          RC_ASSERT(served.insert(*host).second && living[*host] == each.id);
      }
      RC_ASSERT(living == holder);
    }
  }));
}

}  // namespace
