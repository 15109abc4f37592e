#pragma once

#include <optional>
#include <string>

#include "controller/domain/accounts/accounts.h"
#include "controller/domain/accounts/admin_roles.h"

// Functions that change nothing but the rows of an account. user_admin.h and passwords.h of
// lifecycle call them and do what else belongs to such a change (points, campaigns, mail, the audit
// log). They do nothing if the account doesn't exist.
namespace berth::accounts {

void set_tier(db::Tx& tx, const std::string& user_id, const std::string& tier);
// Without a role the user is no admin. admin_roles.h has what belongs to such a change.
void set_admin_role(db::Tx& tx, const std::string& user_id, std::optional<AdminRole> role);
// Gives the account another address. The caller has checked that nobody else has it.
void set_email(db::Tx& tx, const std::string& user_id, const std::string& email);
// The account gets no bonus of a new user any more (returning_users.h).
void set_returning(db::Tx& tx, const std::string& user_id);
// The language of the mails to the user.
void set_language(db::Tx& tx, const std::string& user_id, Language language);
void set_suspended(db::Tx& tx, const std::string& user_id, bool suspended);

// Returns the stored hash; empty if the account doesn't exist or was deleted.
std::string password_hash_of(db::Tx& tx, const std::string& user_id);
void set_password_hash(db::Tx& tx, const std::string& user_id, const std::string& hash);
// Returns false if the hash isn't `old_hash` any more: of two changes at once, one wins.
bool replace_password_hash(db::Tx& tx, const std::string& user_id, const std::string& old_hash,
                           const std::string& new_hash);

// Keeps other writes from changing the account until the end of this one. Only rules that several
// writes can break together need it, such as limits that count rows: where writers run side by side
// (PostgreSQL), each of them locks the account before it counts.
void lock(db::Tx& tx, const std::string& user_id);

// Removes the user's sessions, mailed tokens and known networks, and overwrites what says who the
// user was. The row of the account stays, because the ledger and the registration number need it.
void mark_deleted(db::Tx& tx, const std::string& user_id);

}  // namespace berth::accounts
