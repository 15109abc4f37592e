#pragma once

#include "api/gate/route.h"

// Requests for scopes: what an app's owner asks for, and what administrators approve, reject and
// withdraw.
namespace berth::api {

Reply request_scopes(db::Tx& tx, const Call& call, const Services& services);
Reply list_scope_requests(db::Tx& tx, const Call& call, const Services& services);
Reply withdraw_scope_request(db::Tx& tx, const Call& call, const Services& services);
Reply internal_scope_requests(db::Tx& tx, const Call& call, const Services& services);
Reply approve_scope_request(db::Tx& tx, const Call& call, const Services& services);
Reply reject_scope_request(db::Tx& tx, const Call& call, const Services& services);
Reply revoke_scopes(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
