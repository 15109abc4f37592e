#pragma once

#include <string>
#include <unordered_set>

#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

// Blocks between users. A block works in both directions: neither of the two can find the other,
// send them a friend request, see their presence, read their messages or send them points. Neither
// is told that there is a block; the other user just doesn't exist for them. The functions throw
// berth::Error.
namespace berth::blocks {

// The limit exists because lists and checks go through all blocks of a user.
inline constexpr int max_blocks_per_user = 1'000;

struct Block {
  std::string user_id;  // the user who is blocked
  std::string username;
  Instant blocked_at;
};

// Blocks a user, and ends a friendship or request between the two. May be repeated. Throws
// user_not_found; throws validation_failed for oneself, and if the user already has
// max_blocks_per_user blocks.
Block add(db::Tx& tx, const std::string& user_id, const std::string& blocked_id);
// Throws user_not_found if the user hasn't blocked the other one.
void remove(db::Tx& tx, const std::string& user_id, const std::string& blocked_id);
// The users whom the user has blocked, newest block first.
Page<Block> list(db::Tx& tx, const std::string& user_id, const PageRequest& page);

// Whether one of the two has blocked the other.
bool between(db::Tx& tx, const std::string& one, const std::string& other);
// All users who have blocked the user or whom the user has blocked.
std::unordered_set<std::string> around(db::Tx& tx, const std::string& user_id);

// Throws user_not_found unless the user may see the account `other_id`: it isn't deleted, and there
// is no block between the two. Users may see themselves.
void require_visible(db::Tx& tx, const std::string& user_id, const std::string& other_id);

}  // namespace berth::blocks
