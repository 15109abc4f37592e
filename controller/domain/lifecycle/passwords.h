#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/accounts/email_changes.h"
#include "controller/domain/kernel/keys.h"

// Rules for passwords, and changing them. Hashing takes long, so callers do it outside any
// transaction.
namespace berth::accounts {

// Follows NIST SP 800-63B, section 5.1.1.2: a minimum length, no passwords that attackers try
// first, and no rules about which characters to use. Lengths count code points.
inline constexpr size_t min_password_length = 8;
inline constexpr size_t max_password_length = 256;

// Returns the password in Unicode's composed form (NFC), in which it is judged and hashed (NIST SP
// 800-63B, section 5.1.1.2): keyboards send é in one way or the other. Needs UTF-8.
std::string composed_password(std::string_view password);

// Throws validation_failed if the length is wrong, or if the password is one that attackers try
// first, by zxcvbn's estimate: it takes fewer than 10^6 guesses; or it is a single word, row of
// keys, sequence or repetition; or it is one word with nothing but a year, digits or a character or
// two beside it, such as "Summer2026!", and takes fewer than 10^8. `own` are words that belong to
// the user (name, address) or the platform (its host names), which attackers try first, too. The
// message says what the password is, and what helps. With Blocklist::off only the length counts.
enum class Blocklist { on, off };
void check_password(std::string_view typed, const std::vector<std::string>& own = {},
                    Blocklist blocklist = Blocklist::on);
// Returns the words that belong to this user and to the platform at this URL, for check_password():
// the name, the address and the host, as a whole and in parts.
std::vector<std::string> own_words(const std::string& username, const std::string& email,
                                   const std::string& base_url);

// What becomes of the other ways into the account when its password is changed.
enum class OtherWays { end, keep };
struct PasswordChange {
  std::string old_hash;
  std::string new_hash;
  std::string kept_session;  // the session that goes on in any case
  OtherWays others = OtherWays::end;
};
// Changes the password, removes mailed reset tokens and, unless `others` keeps them, ends all other
// ways into the account (ways_in.h). Tells the user by mail what has ended. Throws
// invalid_credentials if the stored hash is no longer `old_hash`; so if two changes are made at the
// same time, one succeeds.
void change_password(db::Tx& tx, const User& user, const PasswordChange& change, const Keys& keys,
                     const std::string& base_url);

inline constexpr Duration reset_lifetime = std::chrono::hours(1);
// For each account, because anybody can ask for them.
inline constexpr int max_reset_mails_per_hour = 3;

// Notes that somebody asked for a new password for this address. Whether an account has the address
// is looked up later, by answer_reset_requests(), so that the answer's time doesn't tell it.
void request_reset(db::Tx& tx, const std::string& email);
// Whether answer_reset_requests() would find a request.
bool is_any_reset_requested(db::Tx& tx);
// Takes the oldest `most` requests, and mails a reset token to each address that an account has,
// unless the account has reached max_reset_mails_per_hour. Returns how many requests it took.
int answer_reset_requests(db::Tx& tx, const Keys& keys, const std::string& base_url, int most);
// Returns the user whom the reset token was sent to. Throws validation_failed if it doesn't work.
User check_reset_token(db::Tx& tx, const std::string& token);
// Sets the new password, uses up all reset tokens of the user, ends all ways into the account
// (ways_in.h), and tells the user by mail what has ended. If the
// address was never verified, whoever controlled the account before may have been somebody else, so
// the second factor and all connections to apps are removed as well. Throws validation_failed if
// the token doesn't work.
void reset_password(db::Tx& tx, const std::string& token, const std::string& new_hash,
                    const Keys& keys, const std::string& base_url);

// Stops a change of the account's address (email_changes.h). If it was confirmed, whoever made it
// knows the password: everything that was let in with it ends, second factors go if the account had
// none a week before the change, and the old address, which the account has again, gets a mail to
// choose a new password. Throws validation_failed (field `token`).
email_changes::Stopped stop_email_change(db::Tx& tx, const std::string& token);

}  // namespace berth::accounts
