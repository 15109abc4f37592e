// What the records of a domain prove, and what its owner is told about them.
#include <catch2/catch.hpp>
#include <set>

#include "reconcilers/cluster/custom_domain_check.h"
#include "tests/dns/server.h"

using namespace berth;
using berth::dns::test::address;
using berth::dns::test::alias;
using berth::dns::test::text;
using custom_domains::Outcome;
using custom_domains::Reason;

namespace {

const std::string apex = "shop.example", sub = "www.shop.example", target = "shop.apps.example";
constexpr int type_a = 1, type_aaaa = 28;

struct Zone {
  std::vector<dns::test::Record> records;
  // Questions that are answered with SERVFAIL: the name and the type.
  std::set<std::pair<std::string, int>> failing = {};
};

custom_domains::Check check(const std::string& domain, const Zone& zone) {
  const dns::test::Server server([&](const dns::test::Question& question) {
    if (zone.failing.contains({question.name, question.type}))
      return std::vector{dns::test::reply(question, {}, dns::test::server_failure)};
    return dns::test::from_zone(question, zone.records);
  });
  const dns::Resolver resolver({.servers = {server.text()},
                                .patience = std::chrono::milliseconds(500),
                                .tries = 1,
                                .deadline = std::chrono::milliseconds(2'000)});
  custom_domains::Claim claim;
  claim.deployment_id = "7";
  claim.domain = domain;
  claim.name = "shop";
  claim.is_apex = domain == apex;
  if (claim.is_apex) claim.txt_reason = custom_domains::TxtReason::apex;
  return reconcilers::check_domain(claim, "apps.example", resolver);
}

}  // namespace

TEST_CASE("each set of records of a domain is called what it is") {
  const auto proof = text("_berth-challenge." + apex, {"berth=7"});
  const auto ours4 = address(target, "192.0.2.80"), ours6 = address(target, "2001:db8::80");
  const auto right4 = address(apex, "192.0.2.80"), right6 = address(apex, "2001:db8::80");
  const auto wrong4 = address(apex, "198.51.100.7"), wrong6 = address(apex, "2001:db8::7");
  struct Row {
    const char* what;
    std::string domain;
    Zone zone;
    Outcome outcome;
    const char* says = "";
  };
  const Row rows[] = {
      {"both addresses", apex, {{proof, ours4, ours6, right4, right6}}, Outcome::proven},
      {"one of them", apex, {{proof, ours4, ours6, right4}}, Outcome::proven},
      {"the right A record and a failing AAAA",
       apex,
       {{proof, ours4, right4}, {{apex, type_aaaa}}},
       Outcome::proven},
      {"the right AAAA record and a failing A",
       apex,
       {{proof, ours4, ours6, right6}, {{apex, type_a}}},
       Outcome::proven},
      {"both fail", apex, {{proof, ours4}, {{apex, type_a}, {apex, type_aaaa}}}, Outcome::unknown},
      {"no A record and a failing AAAA",
       apex,
       {{proof, ours4}, {{apex, type_aaaa}}},
       Outcome::unknown},
      {"a wrong A record and a failing AAAA",
       apex,
       {{proof, ours4, wrong4}, {{apex, type_aaaa}}},
       Outcome::refuted,
       "is missing (ALIAS, or the same A and AAAA records): it has the address 198.51.100.7"},
      {"a wrong AAAA record besides",
       apex,
       {{proof, ours4, right4, wrong6}},
       Outcome::refuted,
       "shop.example leads to the platform, but has another address as well: remove the record "
       "AAAA 2001:db8::7"},
      {"a wrong A record besides",
       apex,
       {{proof, ours4, ours6, right4, right6, wrong4}},
       Outcome::refuted,
       "remove the record A 198.51.100.7"},
      {"two wrong ones besides",
       apex,
       {{proof, ours4, right4, wrong4, wrong6}},
       Outcome::refuted,
       "remove the records A 198.51.100.7, AAAA 2001:db8::7"},
      {"only wrong ones",
       apex,
       {{proof, ours4, wrong4, wrong6}},
       Outcome::refuted,
       "is missing (ALIAS, or the same A and AAAA records)"},
      {"an address that may be the platform's, whose AAAA fails",
       apex,
       {{proof, ours4, right4, right6}, {{target, type_aaaa}}},
       Outcome::unknown},
      {"the platform's AAAA fails, and nobody needs it",
       apex,
       {{proof, ours4, right4}, {{target, type_aaaa}}},
       Outcome::proven},
      {"no proof", apex, {{ours4, right4}, {{apex, type_aaaa}}}, Outcome::refuted, "TXT"},
      {"a CNAME record", sub, {{alias(sub, target), ours4}}, Outcome::proven},
      {"a CNAME record to a target whose AAAA fails",
       sub,
       {{alias(sub, target), ours4}, {{target, type_aaaa}}},
       Outcome::proven},
      {"addresses instead of a CNAME record, one of them wrong",
       sub,
       {{ours4, address(sub, "192.0.2.80"), address(sub, "2001:db8::7")}},
       Outcome::refuted,
       "remove the record AAAA 2001:db8::7"},
  };
  for (const Row& row : rows) {
    const auto seen = check(row.domain, row.zone);
    INFO(row.what << ": " << seen.message.value_or("no message"));
    CHECK(seen.outcome == row.outcome);
    CHECK(seen.message.value_or("").find(row.says) != std::string::npos);
    if (row.outcome == Outcome::unknown) CHECK(seen.reason == Reason::dns_unreachable);
  }
  CHECK(std::size(rows) == 17);
}
