#pragma once

#include <string>

#include "controller/db/database.h"

namespace berth::social {

// Deletes the friendships, blocks, presence and channel memberships of an account. Called in the
// transaction that deletes the account.
void forget(db::Tx& tx, const std::string& user_id);

}  // namespace berth::social
