#pragma once

#include "api/gate/call.h"

// The second factor: codes of an authenticator (TOTP, RFC 6238) and recovery codes.
namespace berth::api {

Reply set_up_totp(db::Tx& tx, const Call& call, const Services& services);
Reply enable_totp(const Call& call, const Services& services);
Reply disable_totp(const Call& call, const Services& services);
Reply new_recovery_codes(const Call& call, const Services& services);
Reply step_up(const Call& call, const Services& services);

}  // namespace berth::api
