#pragma once

#include "api/gate/call.h"

// Handlers of blocks: two users of whom one has blocked the other can't see or reach each other.
namespace berth::api {

Reply list_blocks(db::Tx& tx, const Call& call, const Services& services);
Reply block_user(db::Tx& tx, const Call& call, const Services& services);
Reply unblock_user(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
