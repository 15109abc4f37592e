#include "reconcilers/domain_check.h"

#include <algorithm>
#include <set>

#include "reconcilers/dns/message.h"

namespace berth::reconcilers {
namespace {

using dns::Answer;
using dns::Type;
using Points = Verdict::Points;

enum class Proven { yes, no, unknown };

Proven is_proven(const Claim& claim, const dns::Resolver& resolver) {
  const Answer answer = resolver.look_up(claim.challenge_name, Type::txt);
  if (answer.kind == Answer::Kind::unknown) return Proven::unknown;
  return std::ranges::find(answer.values, claim.challenge) != answer.values.end() ? Proven::yes
                                                                                  : Proven::no;
}

std::string challenge_record(const Claim& claim) {
  return "a TXT record " + claim.challenge_name + " with the value " + claim.challenge;
}

Verdict by_proof(Proven proven, const std::string& missing) {
  switch (proven) {
    case Proven::yes:
      return {Points::yes, false, ""};
    case Proven::no:
      return {Points::no, false, missing};
    case Proven::unknown:
      break;
  }
  return {Points::unknown, false, "the name servers don't tell whether there is " + missing};
}

// Of both families. Nothing is known where one of them isn't.
struct Addresses {
  bool known = true;
  std::set<std::string> all;
};

Addresses addresses_of(const std::string& name, Answer four, const dns::Resolver& resolver) {
  const Answer six = resolver.look_up(name, Type::aaaa);
  Addresses found;
  for (const Answer& answer : {std::move(four), six}) {
    if (answer.kind == Answer::Kind::unknown) found.known = false;
    found.all.insert(answer.values.begin(), answer.values.end());
  }
  return found;
}

std::string where_it_leads(const Answer& answer, const Addresses& addresses) {
  if (!answer.chain.empty()) return "it is an alias of " + answer.chain.front();
  if (addresses.all.empty()) return "it has no address either";
  return "it has the address " + *addresses.all.begin();
}

Verdict unknown(const std::string& name) {
  return {Points::unknown, false, "the name servers give no answer about " + name};
}

// Without a CNAME record that leads to us.
Verdict look_at_addresses(const Claim& claim, const Answer& alias, const dns::Resolver& resolver) {
  const Addresses own = addresses_of(claim.domain, alias, resolver);
  if (!own.known) return unknown(claim.domain);
  const std::string record =
      "a CNAME record " + claim.domain + " that leads to " + claim.target + " is missing";
  const std::string missing = record + " (" + where_it_leads(alias, own) + ")";
  if (own.all.empty()) return {Points::no, false, missing};
  const Addresses ours =
      addresses_of(claim.target, resolver.look_up(claim.target, Type::a), resolver);
  if (!ours.known) return unknown(claim.target);
  if (!std::ranges::includes(ours.all, own.all)) return {Points::no, false, missing};
  return by_proof(is_proven(claim, resolver),
                  record + "; where there can't be one, " + challenge_record(claim) +
                      " is needed beside the address");
}

}  // namespace

Verdict look_at(const Claim& claim, const dns::Resolver& resolver) {
  const Answer alias = resolver.look_up(claim.domain, Type::a);
  const bool leads_to_us =
      std::ranges::find(alias.chain, dns::normal(claim.target)) != alias.chain.end();
  if (!leads_to_us) {
    if (alias.kind == Answer::Kind::unknown) return unknown(claim.domain);
    return look_at_addresses(claim, alias, resolver);
  }
  if (claim.proof == Proof::where_no_alias) return {Points::yes, false, ""};
  Verdict verdict = by_proof(is_proven(claim, resolver),
                             challenge_record(claim) +
                                 " is missing: another account used this domain not long ago, so "
                                 "the CNAME record alone proves nothing");
  verdict.lacks_proof_only = verdict.points == Points::no;
  return verdict;
}

}  // namespace berth::reconcilers
