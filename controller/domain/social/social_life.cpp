#include "controller/domain/social/social_life.h"

#include "controller/domain/social/chat.h"

namespace berth::social {

void forget(db::Tx& tx, const std::string& user_id) {
  chat::forget(tx, user_id);
  for (const char* sql :
       {"DELETE FROM friendships WHERE low_id = $1 OR high_id = $1",
        "DELETE FROM blocks WHERE blocker_id = $1 OR blocked_id = $1",
        "DELETE FROM presence WHERE user_id = $1", "DELETE FROM play_time WHERE user_id = $1"})
    tx.execute(sql, user_id);
}

}  // namespace berth::social
