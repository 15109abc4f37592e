#pragma once

#include <string>

#include "controller/db/database.h"

namespace berth::social {

// Deletes the user's friendships, blocks, presence and messages. Called in the transaction that
// deletes the account.
void forget(db::Tx& tx, const std::string& user_id);

}  // namespace berth::social
