#pragma once

#include <string>

#include "controller/db/database.h"

namespace berth::campaigns {

// Erases the texts of the campaigns, their creatives and the segments of a deleted app, about
// `limit` rows. The rows of campaigns stay, because the ledger names them. Returns how many rows
// were changed; fewer than `limit` if nothing is left.
int erase_words(db::Tx& tx, const std::string& app_id, int limit);

}  // namespace berth::campaigns
