#pragma once

#include "api/gate/route.h"

// Presence: who is online, and who sits at a table.
namespace berth::api {

Reply set_presence(db::Tx& tx, const Call& call, const Services& services);
Reply own_presence(db::Tx& tx, const Call& call, const Services& services);
Reply user_presence(db::Tx& tx, const Call& call, const Services& services);
Reply set_table_presence(db::Tx& tx, const Call& call, const Services& services);
Reply table_presence(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
