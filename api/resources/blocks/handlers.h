#pragma once

#include "api/gate/route.h"

// Blocks, by which a user keeps another one away.
namespace berth::api {

Reply list_blocks(db::Tx& tx, const Call& call, const Services& services);
Reply block_user(db::Tx& tx, const Call& call, const Services& services);
Reply unblock_user(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
