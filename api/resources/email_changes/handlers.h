#pragma once

#include "api/gate/call.h"

// Handlers of changing an account's address.
namespace berth::api {

Reply ask_for_email_change(const Call& call, const Services& services);
Reply confirm_email_change(db::Tx& tx, const Call& call, const Services& services);
Reply stop_email_change(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
