#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/base/address_range.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/kernel/use_log.h"

// The sessions in which a user is logged in. A session's JWT works as long as the session has a
// row, and the row is deleted when the session ends, so that a user has no more rows than sessions.
namespace berth::accounts {

inline constexpr int max_sessions_per_user = 100;  // a further login ends the oldest

// The last uses of sessions that end when they are idle, collected in memory and written in
// batches.
class SessionUses : public UseLog {
 public:
  SessionUses() : UseLog(R"(UPDATE sessions SET last_used_at = $2 WHERE id = $1)") {}
};

struct SessionInfo {
  std::string id;
  std::string address;
  std::string user_agent;
  Instant created_at;
  Instant expires_at;
};
// Returns the user's sessions that haven't ended, newest first.
Page<SessionInfo> list_sessions(db::Tx& tx, const std::string& user_id, const PageRequest& page);
// Ends one session. Throws session_not_found if the user has no such session, or it has ended.
void end_session(db::Tx& tx, const std::string& user_id, const std::string& session_id);
// Ends all of the user's sessions but the one with the id `kept`. Returns how many of them hadn't
// ended before.
int end_sessions(db::Tx& tx, const std::string& user_id, const std::string& kept = {});

// How long after entering a password or a second factor a session may change security settings.
inline constexpr std::chrono::minutes proof_fresh_for{10};
// Whether a password or second factor was entered in this session, by logging in or later, within
// proof_fresh_for. Returns false if there is no such session.
bool has_fresh_proof(db::Tx& tx, const std::string& session_id);
// Returns when that was; nothing if there is no such session.
std::optional<Instant> authenticated_at(db::Tx& tx, const std::string& session_id);
// Throws token_revoked if the session has ended. To be called in the transaction that gives its
// user another way in: while a password was being checked, a new one may have ended all sessions.
void require_session(db::Tx& tx, const std::string& session_id);
// Records that the user has just entered one in this session.
void note_proof(db::Tx& tx, const std::string& session_id);

// How long after proving the second factor a session may act as an admin, and how long it may read
// as one.
inline constexpr std::chrono::minutes second_factor_fresh_for{15};
inline constexpr std::chrono::hours second_factor_reads_for{12};
// Whether the second factor was proven in this session within `age`. Returns false if there is no
// such session.
bool has_proven_second_factor(db::Tx& tx, const std::string& session_id, Duration age);
// Records that the user has just proven it in this session.
void note_second_factor(db::Tx& tx, const std::string& session_id);

using berth::network_of;
// Whether the user has logged in from this network within networks_known_for.
inline constexpr Duration networks_known_for = std::chrono::days(90);
bool knows_network(db::Tx& tx, const std::string& user_id, const std::string& network);
// Records that the user has logged in from this network, and forgets networks beyond the limit or
// older than networks_known_for.
void remember_network(db::Tx& tx, const std::string& user_id, const std::string& network);

// Whether both users have logged in from one network within networks_known_for.
bool share_network(db::Tx& tx, const std::string& user_id, const std::string& other_id);

}  // namespace berth::accounts
