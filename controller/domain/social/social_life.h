#pragma once

#include <string>

#include "controller/db/database.h"

namespace berth::social {

// The end of an account: its friendships, blocks, presence and memberships go. In the transaction
// that deletes it.
void forget(db::Tx& tx, const std::string& user_id);

}  // namespace berth::social
