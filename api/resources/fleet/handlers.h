#pragma once

#include "api/gate/route.h"

// The fleet: how berthd gets on with its work for all deployments.
namespace berth::api {

Reply fleet(const Call& call, const Services& services);
Reply isolation_report(const Call& call, const Services& services);
Reply probe_isolation(const Call& call, const Services& services);

}  // namespace berth::api
