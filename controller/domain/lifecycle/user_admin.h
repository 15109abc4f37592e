#pragma once

#include <optional>
#include <string>

#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/keys.h"

// What admins do with accounts, and deleting an account.
namespace berth::accounts {

struct Promotion {                  // members that aren't set stay as they are
  std::optional<std::string> tier;  // the slug of a tier
  std::optional<bool> is_admin;     // whether the user may use the admin pages
  // The role to give. Without it, `is_admin` gives the role `admin` to somebody who has none, and
  // leaves others theirs; false takes any away.
  std::optional<AdminRole> admin_role = {};
};
// Used by admins; `actor` is the admin's id. A suspension ends all ways into the account
// (ways_in.h) and tells the user by mail what has ended; a reactivation brings none of them back,
// so the user logs in again. Repeating a call changes nothing, except that promote() writes a tier
// to the audit log again. All three throw user_not_found; promote() also throws tier_not_found,
// what give_admin_role() throws, guest_account for a guest who would be an admin, and
// validation_failed for a role together with is_admin = false.
User promote(db::Tx& tx, const std::string& id, const Promotion& promotion,
             const std::string& actor);
User suspend(db::Tx& tx, const std::string& id, const std::string& actor, const Keys& keys);
User reactivate(db::Tx& tx, const std::string& id, const std::string& actor);

// Deletes the account for good. Personal data is removed, sessions and consents end, the user's
// apps are deleted, and the points on the account go to the treasury. The ledger keeps its rows,
// without memos, and the registration number isn't reused. What may be many rows is erased later in
// batches (erasure.h). Throws invalid_state while an app of the user has a deployment that isn't
// destroyed, and for the last admin (require_other_admin()).
void delete_account(db::Tx& tx, const User& user, const Keys& keys);
// The same for a guest (accounts/guests.h), who has no address, no apps and no name of their own.
// Their row can go, too, once all other rows are gone. Throws invalid_state if they aren't a guest.
void delete_guest(db::Tx& tx, const User& guest);
// Ends a guest who was merged into an account (guest_merges.h) and has nothing left: removes their
// tokens and all rows that belong to them alone. Their row stays, and so do the texts that others
// need, as long as that account is there. Throws invalid_state if they aren't a guest.
void end_merged_guest(db::Tx& tx, const User& guest);
// Deletes the rows that belong to a user alone, as the three functions above do. A request that had
// shown its token before the account was deleted may have stored some after it, so this is called
// again before the row of a removed guest is deleted, to which they would refer.
void forget_rows(db::Tx& tx, const std::string& user_id);

}  // namespace berth::accounts
