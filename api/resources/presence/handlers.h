#pragma once

#include "api/gate/call.h"

// Handlers of presence: which users are online, and which users are at a table (users who play
// together in an app).
namespace berth::api {

Reply set_presence(db::Tx& tx, const Call& call, const Services& services);
Reply own_presence(db::Tx& tx, const Call& call, const Services& services);
Reply user_presence(db::Tx& tx, const Call& call, const Services& services);
Reply set_table_presence(db::Tx& tx, const Call& call, const Services& services);
Reply table_presence(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
