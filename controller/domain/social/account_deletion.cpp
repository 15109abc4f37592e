#include "controller/domain/social/account_deletion.h"

#include "controller/domain/social/chat.h"

namespace berth::social {

void forget(db::Tx& tx, const std::string& user_id) {
  chat::forget(tx, user_id);
  tx.execute(R"(DELETE FROM friendships WHERE low_id = $1 OR high_id = $1)", user_id);
  tx.execute(R"(DELETE FROM blocks WHERE blocker_id = $1 OR blocked_id = $1)", user_id);
  tx.execute(R"(DELETE FROM presence WHERE user_id = $1)", user_id);
  tx.execute(R"(DELETE FROM presence_seats WHERE user_id = $1)", user_id);
}

}  // namespace berth::social
