#pragma once

#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/keys.h"
#include "controller/domain/oauth/devices.h"
#include "controller/domain/oauth/ways_in.h"

// The ways into an account: everything by which somebody who once got in can go on acting as the
// user. tests/domain/lifecycle/ways_in_test.cpp makes one of each kind, and fails if the schema has
// a kind of credential that it doesn't know.
namespace berth::accounts {

struct EndedWays {
  int sessions = 0;
  oauth::EndedTokens tokens;
  std::vector<std::string> passkeys = {};  // their names: the user's own, which go on
};

// Ends the user's sessions but the one with the id `kept`, all tokens and codes of berth's own
// client and of apps, session tokens (st_live_) and personal access tokens included, mailed links
// for a new password, and changes of the address that aren't confirmed yet. Consents to apps and
// the second factor stay, and so do the secrets of the user's own apps, which belong to the apps.
// Returns what has ended.
EndedWays end_ways_in(db::Tx& tx, const std::string& user_id, const std::string& kept = {});

// Returns what has ended as lines of a letter; a sentence if nothing was open.
std::string in_words(const EndedWays& ended, Language language);

// Used by admins: ends all ways in, and tells the user by mail. `actor` is the admin's id, for the
// audit log. Throws user_not_found.
EndedWays end_ways_in_as_admin(db::Tx& tx, const std::string& user_id, const std::string& actor,
                               const Keys& keys, const std::string& base_url);

// How many of the programs that log in within 24 hours the user is told of. The last letter says
// that it is the last one.
inline constexpr int max_device_letters_per_day = 10;
// Records a login by berth's own client, whose tokens are `tokens`, and tells the user by mail.
void connect_device(db::Tx& tx, const oauth::Tokens& tokens, const devices::Origin& origin,
                    const Keys& keys, const std::string& base_url);

}  // namespace berth::accounts
