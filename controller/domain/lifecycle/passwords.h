#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/keys.h"

// What a password may be, and how it changes. Hashing takes long, so it is done by the caller,
// outside any transaction.
namespace berth::accounts {

// NIST SP 800-63B, section 5.1.1.2: a length, what is guessed first is refused, and no rules about
// what it is composed of. Lengths count code points.
inline constexpr size_t min_password_length = 8;
inline constexpr size_t max_password_length = 256;

// Whether passwords that are guessed first are refused.
enum class Blocklist { on, off };
// Throws validation_failed where the length is wrong, or where it is one of the passwords that are
// tried first: by zxcvbn's estimate below 1,000 guesses, or nothing but one word of its lists, one
// row of keys, one sequence or one repetition. The message says which of these it is. `own` are
// words that belong to the user (name, address): those are tried first, too.
void check_password(std::string_view password, const std::vector<std::string>& own = {},
                    Blocklist blocklist = Blocklist::on);
// The words that belong to this user.
std::vector<std::string> own_words(const std::string& username, const std::string& email);

// Empty where the account is gone.
std::string password_hash_of(db::Tx& tx, const std::string& user_id);
// Ends all the user's sessions but `kept_session`. Throws invalid_credentials where the password
// isn't `old_hash` any more: of two changes at once, one wins.
void change_password(db::Tx& tx, const User& user, const std::string& old_hash,
                     const std::string& new_hash, const std::string& kept_session, const Keys& keys,
                     const std::string& base_url);

inline constexpr Duration reset_lifetime = std::chrono::hours(1);
inline constexpr int max_reset_mails_per_hour = 3;  // of one account: others can ask for them

// Mails a token to the address if somebody has it. Does as much where nobody has it, or where he
// has got enough of them, and never says which.
void request_reset(db::Tx& tx, const std::string& email, const Keys& keys,
                   const std::string& base_url);
// Whose token it is. Throws validation_failed.
User check_reset_token(db::Tx& tx, const std::string& token);
// The token is used up, the user's others too, and all his sessions end; where his address was
// never verified, the second factor and all connected apps go as well. Throws validation_failed.
void reset_password(db::Tx& tx, const std::string& token, const std::string& new_hash,
                    const Keys& keys, const std::string& base_url);

}  // namespace berth::accounts
