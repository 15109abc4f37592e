#include "reconcilers/cluster/custom_domain_check.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "controller/base/visible_text.h"
#include "reconcilers/dns/message.h"

namespace berth::reconcilers {
namespace {

using custom_domains::Check;
using custom_domains::Claim;
using custom_domains::Reason;
using dns::Answer;
using dns::Type;
using Result = custom_domains::Outcome;

Check refuted(Reason reason, const std::string& message) {
  return {.outcome = Result::refuted, .reason = reason, .message = message, .addresses = {}};
}

Check silent(const std::string& name) {
  return {.outcome = Result::unknown,
          .reason = Reason::dns_unreachable,
          .message = "the name servers don't answer questions about " + name,
          .addresses = {}};
}

Check proven() { return {.outcome = Result::proven, .reason = {}, .message = {}, .addresses = {}}; }

// Lists values for a message. They come from a stranger's zone, so only the first few are shown.
std::string shown(const std::vector<std::string>& values) {
  constexpr size_t most = 3;
  std::string list;
  for (size_t i = 0; i < std::min(most, values.size()); ++i)
    list += (i == 0 ? "" : ", ") + without_controls(values[i]);
  return values.size() > most ? list + ", …" : list;
}

// Why the TXT record is asked for, as a part of a sentence.
std::string why_text(const Claim& claim) {
  using custom_domains::TxtReason;
  if (claim.txt_reason == TxtReason::domain_used_before)
    return " (needed because another account had this domain before)";
  if (claim.txt_reason == TxtReason::name_used_before)
    return " (needed because another account had the name " + claim.name +
           " before, and a forgotten CNAME record may lead to it)";
  return "";
}

Check check_text(const Claim& claim, const dns::Resolver& resolver) {
  const std::string name = custom_domains::challenge_name(claim);
  const std::string value = custom_domains::challenge_value(claim);
  const Answer answer = resolver.look_up(name, Type::txt);
  if (answer.kind == Answer::Kind::unknown) return silent(name);
  if (std::ranges::find(answer.values, value) != answer.values.end()) return proven();
  const std::string there =
      answer.values.empty() ? "there is none" : "there is " + shown(answer.values);
  return refuted(Reason::txt_missing, "a TXT record " + name + " with the value " + value +
                                          " is missing: " + there + why_text(claim));
}

// The A and AAAA addresses of a name, sorted.
struct Addresses {
  std::vector<std::string> all;
  bool is_complete = true;  // false if one of the two look-ups failed

  // If one kind of addresses is there, issuers and visitors use it whatever the other look-up says.
  bool known() const { return is_complete || !all.empty(); }
};

Addresses addresses_of(const std::string& name, const Answer& four, const dns::Resolver& resolver) {
  const Answer six = resolver.look_up(name, Type::aaaa);
  Addresses found;
  for (const Answer* answer : {&four, &six}) {
    if (answer->kind == Answer::Kind::unknown) found.is_complete = false;
    found.all.insert(found.all.end(), answer->values.begin(), answer->values.end());
  }
  std::ranges::sort(found.all);
  return found;
}

std::string type_of(const std::string& address) { return address.contains(':') ? "AAAA" : "A"; }

// Describes the addresses that the domain has besides the platform's. A visitor may be sent to one
// of them.
std::string extra_records(const Claim& claim, const std::vector<std::string>& extra) {
  std::vector<std::string> records;
  records.reserve(extra.size());
  for (const std::string& address : extra) records.push_back(type_of(address) + " " + address);
  return claim.domain + " leads to the platform, but has another address as well: remove the " +
         (records.size() == 1 ? "record " : "records ") + shown(records);
}

std::string missing_record(const Claim& claim, const std::string& target, const Answer& alias,
                           const std::vector<std::string>& addresses) {
  std::string text = claim.is_apex ? "a record that leads " + claim.domain + " to " + target +
                                         " is missing (ALIAS, or the same A and AAAA records): "
                                   : "a CNAME record " + claim.domain + " that leads to " + target +
                                         " is missing: ";
  if (!alias.chain.empty()) return text + "it leads to " + shown(alias.chain);
  if (addresses.empty()) return text + alias.problem;
  return text + "it has the address " + shown(addresses);
}

// Checks the addresses of a domain that has no CNAME chain to our target.
Check check_addresses(const Claim& claim, const std::string& target, const Answer& alias,
                      const dns::Resolver& resolver) {
  const Addresses own = addresses_of(claim.domain, alias, resolver);
  if (!own.known()) return silent(claim.domain);
  const auto missing = [&] {
    return refuted(Reason::dns_not_pointing, missing_record(claim, target, alias, own.all));
  };
  // The target's addresses are shown to the owner of an apex domain, and compared with the
  // addresses that the domain has.
  if (own.all.empty() && !claim.is_apex) return missing();
  const Addresses ours = addresses_of(target, resolver.look_up(target, Type::a), resolver);
  if (!ours.known()) return silent(target);
  std::vector<std::string> extra;
  std::ranges::set_difference(own.all, ours.all, std::back_inserter(extra));
  // An address may be one of the platform's that wasn't found.
  if (!extra.empty() && !ours.is_complete) return silent(target);
  const bool leads_to_us = !own.all.empty() && extra.empty();
  Check check = leads_to_us ? check_text(claim, resolver)
                : extra.size() < own.all.size()
                    ? refuted(Reason::dns_not_pointing, extra_records(claim, extra))
                    : missing();
  // If a domain could have a CNAME record and has none, its owner learns of that first, and of the
  // TXT record later.
  if (leads_to_us && check.outcome == Result::refuted && !claim.is_apex) check = missing();
  check.addresses = ours.all;
  return check;
}

}  // namespace

Check check_domain(const Claim& claim, const std::string& apps_domain,
                   const dns::Resolver& resolver) {
  const std::string target = dns::normal(custom_domains::target_of(claim, apps_domain));
  const Answer alias = resolver.look_up(claim.domain, Type::a);
  if (std::ranges::find(alias.chain, target) != alias.chain.end())
    return claim.needs_txt() ? check_text(claim, resolver) : proven();
  return check_addresses(claim, target, alias, resolver);
}

}  // namespace berth::reconcilers
