#pragma once

#include "api/gate/call.h"

// The authorization server: authorization, tokens, introspection and revocation.
namespace berth::api {

Reply authorize(db::Tx& tx, const Call& call, const Services& services);
Reply authorize_device(db::Tx& tx, const Call& call, const Services& services);
Reply token(db::Tx& tx, const Call& call, const Services& services);
Reply refresh_tokens(db::Tx& tx, const Call& call, const Services& services);
Reply verify_token(db::Tx& tx, const Call& call, const Services& services);
Reply introspect_token(db::Tx& tx, const Call& call, const Services& services);
Reply revoke_token(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
