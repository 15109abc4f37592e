#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/base/address_range.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/kernel/use_log.h"

// Where a user is logged in, and how that ends. A session's JWT works as long as its row does, and
// the row goes with the session: a user has no more rows than sessions.
namespace berth::accounts {

inline constexpr int max_sessions_per_user = 100;  // one more ends the oldest

// When each session was last used, of those that end when they are left alone.
class SessionUses : public UseLog {
 public:
  SessionUses() : UseLog("UPDATE sessions SET last_used_at = $2 WHERE id = $1") {}
};

struct SessionInfo {
  std::string id;
  std::string address;
  std::string user_agent;
  Instant created_at;
  Instant expires_at;
};
// Those that are alive, newest first.
Page<SessionInfo> list_sessions(db::Tx& tx, const std::string& user_id, const PageRequest& page);
// Throws session_not_found where the user has no such session that is alive.
void end_session(db::Tx& tx, const std::string& user_id, const std::string& session_id);
// All of them but `kept`.
void end_sessions(db::Tx& tx, const std::string& user_id, const std::string& kept = {});

// How long a proof of the password or of a second factor opens what a session alone doesn't:
// changes of the account's safety.
inline constexpr std::chrono::minutes proof_fresh_for{10};
// Whether the last proof in this session, its login included, is younger than that. False where
// there is no such session.
bool has_fresh_proof(db::Tx& tx, const std::string& session_id);
// The user has just given one.
void note_proof(db::Tx& tx, const std::string& session_id);

using berth::network_of;
// Whether the user has logged in from there in the last 90 days.
inline constexpr Duration networks_known_for = std::chrono::days(90);
bool knows_network(db::Tx& tx, const std::string& user_id, const std::string& network);
void remember_network(db::Tx& tx, const std::string& user_id, const std::string& network);

}  // namespace berth::accounts
