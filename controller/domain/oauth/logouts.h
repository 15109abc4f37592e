#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/apps/openid_settings.h"
#include "controller/domain/oauth/openid.h"

// Telling apps that a session has ended in which somebody had logged in to them (OpenID Connect
// Back-Channel Logout 1.0). A trigger of `sessions` writes the notices, whatever ends a session,
// and disconnecting an app writes some, too; the loop of logouts (reconcilers/loops/logouts.h)
// sends them. A session that ends by its time, or because it is idle, is told to nobody: how long
// an app's own session lasts is its own affair.
namespace berth::logouts {

// A notice is given up after so many attempts, about 90 minutes after the first one.
inline constexpr int max_attempts = 10;

// Writes the notices for all sessions in which the user of the grant has logged in to its app. To
// be called before the grant's families are revoked.
void note_disconnected(db::Tx& tx, const std::string& grant_id);
// Writes the notices for all apps that were logged in to in a session that goes on without their
// tokens: once these are revoked, the end of the session would be told to nobody. To be called
// before the families are revoked.
void note_tokens_ended(db::Tx& tx, const std::string& session_id);

struct Notice {
  std::int64_t id = 0;
  std::string client_id;
  // The app's backchannel_logout_uri; empty if there is nothing to send: the app has none any more,
  // or the session has ended by itself.
  std::string url;
  apps::IdTokenAlg alg = apps::IdTokenAlg::rs256;
  std::string user_id;
  std::string session_id;
  int attempts = 0;
};
// Returns the notices that are due: `most` at most, and of one app `most_of_app` at most.
std::vector<Notice> due(db::Tx& tx, int most, int most_of_app);
// Counts an attempt, and postpones the notice until `retry_at` before it is sent, so that an
// attempt counts even if berthd crashes. Returns false if it isn't due.
bool begin_attempt(db::Tx& tx, std::int64_t id, Instant retry_at);
// Ends a notice that was taken, refused for good or has nothing to send. Does nothing if there is
// no such notice.
void forget(db::Tx& tx, std::int64_t id);

// Returns the logout token for the notice (section 2.4), which lives for logout_token_lifetime.
std::string logout_token(db::Tx& tx, const Notice& notice, const openid::Issuer& issuer);

}  // namespace berth::logouts
