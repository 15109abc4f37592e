#pragma once

#include <string>
#include <unordered_set>

#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

// Who wants nothing to do with whom. A block works both ways: the two don't find each other, ask
// each other, see each other, read each other or send each other points, and neither is told that
// there is one: to each, the other isn't there. Functions throw berth::Error.
namespace berth::blocks {

// Lists and checks go through all of them.
inline constexpr int max_blocks_per_user = 1'000;

struct Block {
  std::string user_id;  // who is blocked
  std::string username;
  Instant blocked_at;
};

// Ends what friendship or request there is between them. May be repeated. Throws user_not_found;
// validation_failed for oneself, and where there are max_blocks_per_user.
Block add(db::Tx& tx, const std::string& user_id, const std::string& blocked_id);
// Throws user_not_found where the user hasn't blocked him.
void remove(db::Tx& tx, const std::string& user_id, const std::string& blocked_id);
// Whom the user has blocked, newest first.
Page<Block> list(db::Tx& tx, const std::string& user_id, const PageRequest& page);

// Whether one of them has blocked the other.
bool between(db::Tx& tx, const std::string& one, const std::string& other);
// Everybody who has blocked the user or is blocked by him.
std::unordered_set<std::string> around(db::Tx& tx, const std::string& user_id);

// Throws user_not_found unless `other_id` is an account that the user may see: neither deleted nor
// on either side of a block with him. Oneself may be seen.
void require_visible(db::Tx& tx, const std::string& user_id, const std::string& other_id);

}  // namespace berth::blocks
