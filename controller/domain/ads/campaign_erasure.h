#pragma once

#include <string>

#include "controller/db/database.h"

namespace berth::campaigns {

// Erases what the campaigns of a deleted account and the segments of its apps say, about `limit`
// rows. The rows of campaigns stay, because the ledger names them. Returns how many rows were
// changed; fewer than `limit` if nothing is left.
int erase_words(db::Tx& tx, const std::string& owner_id, int limit);

}  // namespace berth::campaigns
