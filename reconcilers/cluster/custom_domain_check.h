#pragma once

#include <string>

#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "reconcilers/dns/resolver.h"

namespace berth::reconcilers {

// What the DNS says of a claim. Proven is one whose domain leads to us by a chain of CNAME records,
// with the TXT record where the claim needs it; or all of whose addresses are addresses of
// <name>.<apps_domain>, always with the TXT record: an apex can't have a CNAME, and addresses are
// shared by all tenants. Only what the name servers said counts as refuted: no answer is unknown.
// Asks up to six questions, so it may take that many deadlines of the resolver.
custom_domains::Check check_domain(const custom_domains::Claim& claim,
                                   const std::string& apps_domain, const dns::Resolver& resolver);

}  // namespace berth::reconcilers
