#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/kernel/scopes.h"
#include "controller/domain/kernel/use_log.h"
#include "controller/domain/oauth/play_sessions.h"

// The apps that a user has connected (consented to): what each may do and spend, and how a
// connection ends.
namespace berth::connections {

struct Connection {
  std::string grant_id;
  std::string app_id;
  std::string app_name;
  std::string app_description;
  std::optional<std::string> logo_url;
  ScopeSet scopes;  // what the user has consented to
  Instant connected_at;
  std::optional<Instant> last_used;
  std::optional<std::int64_t> daily_spend_limit;  // points in a UTC day; no limit if empty
  std::int64_t spent_today = 0;
  play::SessionAccess session_access = play::SessionAccess::full;
  // The app's own setting; if it is false, session_access has no effect.
  bool takes_session_tokens = true;
};

// Returns the user's connections, newest first.
Page<Connection> list(db::Tx& tx, const std::string& user_id, const PageRequest& page);
// Returns one connection. This function and the three below throw app_not_found if the user hasn't
// connected the app.
Connection get(db::Tx& tx, const std::string& user_id, const std::string& app_id);
// Limits what the app may spend in a UTC day to `limit`, from 0 to ledger::max_points. What it has
// already spent today counts.
Connection set_daily_spend_limit(db::Tx& tx, const std::string& user_id, const std::string& app_id,
                                 const std::optional<std::int64_t>& limit);
// Sets what the app may do with its session tokens, including existing ones, from the next request
// on.
Connection set_session_access(db::Tx& tx, const std::string& user_id, const std::string& app_id,
                              play::SessionAccess access);
// Returns what the app may do with its session tokens at present; nothing if the user hasn't
// connected the app, or hasn't seen yet that it may get any.
std::optional<play::SessionAccess> session_access(db::Tx& tx, const std::string& user_id,
                                                  const std::string& app_id);
// Ends the consent, and with it every token and code that came from it, at once.
void disconnect(db::Tx& tx, const std::string& user_id, const std::string& app_id);
// The same for one grant (a user's consent to one app), and for everything that the user has
// connected.
void end_grant(db::Tx& tx, const std::string& grant_id);
void disconnect_all(db::Tx& tx, const std::string& user_id);
// Removes the row that counts the apps of a removed guest, who has no grants any more.
void forget_count(db::Tx& tx, const std::string& user_id);
// The apps of the user's grants, those that have ended and aren't removed yet included.
std::vector<std::string> app_ids(db::Tx& tx, const std::string& user_id);

// Counts a spend with the scope points:spend against the user's daily limit; to be called in the
// spend's transaction, with the grant of its token. Throws spend_limit_reached if the amount
// exceeds what is left of the limit.
void count_spending(db::Tx& tx, const std::string& grant_id, std::int64_t amount);
// The same in two steps, for whoever sends other statements together with this one: the statement,
// and what runs it and throws.
db::Query spending_count(db::Tx& tx, const std::string& grant_id, std::int64_t amount);
void require_counted(db::Query& count);

// The last use of each grant, collected in memory and written in batches.
class UseLog : public berth::UseLog {
 public:
  UseLog() : berth::UseLog(R"(UPDATE grants SET last_used_at = $2 WHERE id = $1)") {}
};

}  // namespace berth::connections
