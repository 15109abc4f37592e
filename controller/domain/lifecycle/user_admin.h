#pragma once

#include <optional>
#include <string>

#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/keys.h"

// What admins do with accounts, and how an account ends.
namespace berth::accounts {

struct Promotion {                  // what is left out stays as it is
  std::optional<std::string> tier;  // the slug of a tier
  std::optional<bool> is_admin;     // whether he may use the admin pages
};
// All three by an admin, `actor`; each may be repeated. While an account is suspended its sessions
// and tokens don't work; reactivated, they do again. Throw user_not_found; promote: tier_not_found.
User promote(db::Tx& tx, const std::string& id, const Promotion& promotion,
             const std::string& actor);
User suspend(db::Tx& tx, const std::string& id, const std::string& actor);
User reactivate(db::Tx& tx, const std::string& id, const std::string& actor);

// For good. What says who the user was is removed, sessions and consents end, their apps are
// deleted, what is on their account goes to the treasury; the ledger keeps its rows without memos,
// and the registration number its place. What there is much of goes in batches behind it
// (erasure.h). Throws invalid_state while an app of theirs has a deployment that isn't destroyed.
void delete_account(db::Tx& tx, const User& user, const Keys& keys);

}  // namespace berth::accounts
