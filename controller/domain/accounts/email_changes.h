#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"

// Giving an account another address. The user enters the password, and the change takes effect once
// the new address has confirmed it, so that both are proven. When the user asks for it, the old
// address gets a mail with a link that stops the change, and that reverts it for a week. An old
// address that was never verified gets a mail without a link, because it may be a stranger's.
namespace berth::accounts::email_changes {

inline constexpr Duration confirmed_within = std::chrono::hours(24);
inline constexpr Duration undone_within = std::chrono::days(7);  // from the request on
inline constexpr int max_in_a_day = 5;                           // for each account

// Mails both addresses. A change of the same account that isn't confirmed yet is withdrawn. Throws
// validation_failed (field `new_email`) if nothing can be delivered to the address or it is taken;
// and rate_limited after max_in_a_day, or if the new address may get no further mail today.
void ask(db::Tx& tx, const User& user, const std::string& new_email, const Keys& keys,
         const std::string& base_url);

// Confirms a change: gives the account the address that the token was mailed to, which counts as
// verified, makes mailed links to the old address invalid, and mails the old address. If this is
// the account's first verification, it pays the sign-up bonus as verify_email() does, but not if
// the mailbox has had one before (returning_users.h); from now on, the old address counts as one
// that has. Returns the user. Throws validation_failed (field `token`, or `email` if somebody has
// taken the address meanwhile).
User confirm(db::Tx& tx, const std::string& token, const SignupBonus& bonus, const Keys& keys);

// Stops the change by the token that was mailed to the old address, and all newer changes with it.
// If one of them was confirmed, the account gets the old address back, and all of its sessions end;
// the caller ends everything else. The token works until undone_within is over. Throws
// validation_failed (field `token`).
struct Stopped {
  std::string user_id;
  bool was_confirmed = false;
  Instant asked_at;  // when the change was asked for that the token belongs to
};
Stopped stop(db::Tx& tx, const std::string& token);

// Withdraws the user's changes that aren't confirmed yet: whoever asked for them may not be the
// user.
void withdraw(db::Tx& tx, const std::string& user_id);

// Whether the address was given up by a change that can still be reverted, by somebody else than
// `user_id`.
bool is_kept(db::Tx& tx, std::string_view email, const std::string& user_id);
// Returns the addresses that mail about the user's changes was sent to: those that they had and
// those that they have asked for.
std::vector<std::string> addresses(db::Tx& tx, const std::string& user_id);
// Removes the user's changes, when the account is deleted.
void forget(db::Tx& tx, const std::string& user_id);

}  // namespace berth::accounts::email_changes
