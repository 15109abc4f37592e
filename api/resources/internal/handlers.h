#pragma once

#include "api/gate/route.h"

// What administrators see and do of berthd itself: the audit log, the outbox, the clock, a backup.
namespace berth::api {

Reply audit_log(db::Tx& tx, const Call& call, const Services& services);
Reply outbox(db::Tx& tx, const Call& call, const Services& services);
Reply clock_state(const Call& call, const Services& services);
Reply advance_clock(const Call& call, const Services& services);
Reply backup(const Call& call, const Services& services);

}  // namespace berth::api
