#pragma once

#include <string>

#include "controller/domain/accounts/accounts.h"
#include "controller/domain/oauth/oauth.h"

// How guests (accounts/guests.h) end: as an account, or because they don't come back.
namespace berth::guests {

// Makes a guest an account in place. Throws what accounts::become_account() throws. The tokens that
// the app has go on working (oauth/guest_tokens.h).
accounts::User upgrade(db::Tx& tx, const std::string& guest_id,
                       const accounts::Registration& registration,
                       const accounts::SignupBonus& bonus, const Keys& keys,
                       const std::string& base_url, const oauth::Policy& policy);

// A guest whose last refresh token has expired or was revoked can't come back. They are removed
// with all that a deleted account loses (user_admin.h), and so is their row, a day later, unless
// the ledger has entries of theirs. Removes about `limit` guests or rows, and returns how many it
// has looked at; 0 if none is due (is_any_due() in accounts/guests.h).
int remove_due(db::Tx& tx, int limit);

}  // namespace berth::guests
