#pragma once

#include <string>

#include "reconcilers/dns/resolver.h"

namespace berth::reconcilers {

// Who may ask for the TXT record that proves a claim.
enum class Proof {
  where_no_alias,  // the CNAME record is proof enough; an apex, which can't have one, needs the TXT
  always,          // another account used the domain not long ago: its CNAME may be a left-over
};

// What has to be true of a custom domain before it is ours to serve.
struct Claim {
  std::string domain;
  std::string target;  // <name>.<apps_domain>
  std::string challenge_name;
  std::string challenge;
  Proof proof = Proof::where_no_alias;
};

struct Verdict {
  enum class Points { yes, no, unknown };  // unknown: the name servers don't tell
  Points points = Points::unknown;
  // The domain leads to us, and only the TXT record is missing that another's use asks for.
  bool lacks_proof_only = false;
  std::string message;  // which record is missing, for the domain's owner; empty where none is
};

// The domain points to us if a CNAME chain leads from it to the target; or, for an apex, if all of
// its addresses are addresses of the target and the TXT record is there. Asks the DNS, so it may
// take as long as four look-ups.
Verdict look_at(const Claim& claim, const dns::Resolver& resolver);

}  // namespace berth::reconcilers
