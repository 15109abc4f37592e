#pragma once

#include <string>

#include "controller/db/database.h"

// Erases what the deployments of a deleted account say about it. Their rows stay, because the
// ledger's history names them. A deployment keeps its words until nothing of it is left on the
// cluster.
namespace berth::deployments {

// Erases about `limit` rows. Returns how many; fewer than `limit` if nothing can be erased at
// present.
int erase_words(db::Tx& tx, const std::string& owner_id, int limit);
// Whether a deployment of the owner still has its words.
bool has_words(db::Tx& tx, const std::string& owner_id);

}  // namespace berth::deployments
