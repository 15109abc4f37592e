#pragma once

#include "api/gate/call.h"

// Handlers of berthd itself, for administrators: the audit log, the outbox, the clock and backups.
namespace berth::api {

Reply audit_log(db::Tx& tx, const Call& call, const Services& services);
Reply outbox(const Call& call, const Services& services);
Reply clock_state(const Call& call, const Services& services);
Reply advance_clock(const Call& call, const Services& services);
Reply backup(const Call& call, const Services& services);

}  // namespace berth::api
