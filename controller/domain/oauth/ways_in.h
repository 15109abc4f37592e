#pragma once

#include <string>
#include <vector>

#include "controller/db/database.h"

namespace berth::oauth {

// What end_all_tokens() has ended, as far as it could still be used: names for the user, at most
// max_named of each, the newest first.
inline constexpr int max_named = 20;
struct EndedTokens {
  std::vector<std::string> programs;  // devices of berth's own client (devices.h)
  std::vector<std::string> apps;
  std::vector<std::string> personal_tokens;
  bool has_more = false;  // whether there were more than max_named of one of them
};

// Ends everything by which a program can act for the user: the tokens, session tokens and codes of
// all apps and of berth's own client, personal access tokens, and devices that were allowed and
// haven't fetched their tokens. The consents stay: an app gets new tokens if it sends the user
// through the authorization again, or, for an app of the user's own, by its secret.
EndedTokens end_all_tokens(db::Tx& tx, const std::string& user_id);

}  // namespace berth::oauth
