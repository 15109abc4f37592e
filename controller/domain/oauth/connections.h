#pragma once

#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/kernel/scopes.h"
#include "controller/domain/kernel/use_log.h"
#include "controller/domain/oauth/play_sessions.h"

// The apps that a user has connected: what he consented to, what it may spend, how it ends.
namespace berth::connections {

struct Connection {
  std::string grant_id;
  std::string app_id;
  std::string app_name;
  std::string app_description;
  std::optional<std::string> logo_url;
  ScopeSet scopes;  // that the user consented to
  Instant connected_at;
  std::optional<Instant> last_used;
  std::optional<std::int64_t> daily_spend_limit;  // points in a UTC day; nothing: no limit
  std::int64_t spent_today = 0;
  play::SessionAccess session_access = play::SessionAccess::full;
  bool takes_session_tokens = true;  // the app's own setting; without them the access says nothing
};

// Newest first.
Page<Connection> list(db::Tx& tx, const std::string& user_id, const PageRequest& page);
// Throws app_not_found where the user hasn't connected it; so do the three below.
Connection get(db::Tx& tx, const std::string& user_id, const std::string& app_id);
// `limit`: 0 to ledger::max_points. It holds for what is spent from now on; what was spent today
// counts.
Connection set_daily_spend_limit(db::Tx& tx, const std::string& user_id, const std::string& app_id,
                                 const std::optional<std::int64_t>& limit);
// What the app may do with its session tokens, those that it has included, from the next request
// on.
Connection set_session_access(db::Tx& tx, const std::string& user_id, const std::string& app_id,
                              play::SessionAccess access);
// What it may do with them right now; full where the user hasn't connected the app.
play::SessionAccess session_access(db::Tx& tx, const std::string& user_id,
                                   const std::string& app_id);
// Ends the consent and every token and code that came from it, at once.
void disconnect(db::Tx& tx, const std::string& user_id, const std::string& app_id);
// The same of a grant, by its id, and of all that the user has connected.
void end_grant(db::Tx& tx, const std::string& grant_id);
void disconnect_all(db::Tx& tx, const std::string& user_id);

// To be called in the transaction of each spending by points:spend, with the token's grant. Throws
// spend_limit_reached where the amount doesn't fit into what the user allows for the day.
void count_spending(db::Tx& tx, const std::string& grant_id, std::int64_t amount);

// When each grant was last used.
class UseLog : public berth::UseLog {
 public:
  UseLog() : berth::UseLog(R"(UPDATE grants SET last_used_at = $2 WHERE id = $1)") {}
};

}  // namespace berth::connections
