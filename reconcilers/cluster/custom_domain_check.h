#pragma once

#include <string>

#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "reconcilers/dns/resolver.h"

namespace berth::reconcilers {

// Asks the DNS whether a claim is proven. It is proven if a chain of CNAME records leads from the
// domain to <name>.<apps_domain>, and the TXT record is there if the claim needs one; or if all of
// the domain's addresses belong to <name>.<apps_domain> and the TXT record is there. The second way
// always needs the TXT record: it exists because an apex can't have a CNAME record, and the
// addresses are shared by all tenants. The result is `refuted` only if name servers really said so;
// if one doesn't answer, it is `unknown`. Asks up to five questions one after the other, so it may
// take five times the resolver's deadline.
custom_domains::Check check_domain(const custom_domains::Claim& claim,
                                   const std::string& apps_domain, const dns::Resolver& resolver);

}  // namespace berth::reconcilers
