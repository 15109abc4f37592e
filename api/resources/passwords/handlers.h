#pragma once

#include "api/gate/call.h"

// Passwords: changing one, and setting a new one by a token that was mailed.
namespace berth::api {

Reply change_password(const Call& call, const Services& services);
Reply forgot_password(db::Tx& tx, const Call& call, const Services& services);
Reply reset_password(const Call& call, const Services& services);

}  // namespace berth::api
