#pragma once

#include "api/gate/call.h"

// The platform's ledger for administrators: minting points, the treasury, and the audit of all
// entries.
namespace berth::api {

Reply mint(db::Tx& tx, const Call& call, const Services& services);
Reply treasury(db::Tx& tx, const Call& call, const Services& services);
Reply treasury_days(db::Tx& tx, const Call& call, const Services& services);
Reply ledger_audit(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
