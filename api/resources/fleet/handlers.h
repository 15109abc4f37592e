#pragma once

#include "api/gate/call.h"

// Handler of the fleet's state: berthd's work for all deployments, and the state of its own files.
namespace berth::api {

Reply fleet(const Call& call, const Services& services);
Reply isolation_report(const Call& call, const Services& services);
Reply probe_isolation(const Call& call, const Services& services);

}  // namespace berth::api
