#pragma once

#include "api/gate/call.h"

// Handlers of scope requests: owners request scopes for an app, and administrators approve, reject
// and withdraw them.
namespace berth::api {

Reply request_scopes(db::Tx& tx, const Call& call, const Services& services);
Reply list_scope_requests(db::Tx& tx, const Call& call, const Services& services);
Reply withdraw_scope_request(db::Tx& tx, const Call& call, const Services& services);
Reply internal_scope_requests(db::Tx& tx, const Call& call, const Services& services);
Reply approve_scope_request(db::Tx& tx, const Call& call, const Services& services);
Reply reject_scope_request(db::Tx& tx, const Call& call, const Services& services);
Reply revoke_scopes(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
