#pragma once

#include <string>

#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/outbox.h"

// The letters that users get about their accounts, in the language of the account, and the one-time
// tokens in them. The database stores only a token's SHA-256.
namespace berth::accounts {

enum class EmailPurpose { verify_email, reset_password };

// Creates a token that works once, within `lifetime`, and returns it.
std::string new_email_token(db::Tx& tx, const std::string& user_id, EmailPurpose purpose,
                            Duration lifetime);
// Returns the id of the user whom the token was sent to. Throws validation_failed if the token is
// unknown, was used or has expired.
std::string check_email_token(db::Tx& tx, const std::string& token, EmailPurpose purpose);
// The same, and uses the token up. If two requests present it at the same time, one of them
// succeeds.
std::string take_email_token(db::Tx& tx, const std::string& token, EmailPurpose purpose);
// Makes the user's unused tokens for the purpose invalid. They still count in mails_of_last_hour().
void use_up_email_tokens(db::Tx& tx, const std::string& user_id, EmailPurpose purpose);
// Removes the user's tokens for the purpose, used ones too.
void remove_email_tokens(db::Tx& tx, const std::string& user_id, EmailPurpose purpose);
// Returns how many tokens for the purpose were created for the user within the last hour.
int mails_of_last_hour(db::Tx& tx, const std::string& user_id, EmailPurpose purpose);
// Returns how long it takes until mails_of_last_hour() becomes one less; 0 if it is 0.
std::chrono::seconds until_one_mail_less(db::Tx& tx, const std::string& user_id,
                                         EmailPurpose purpose);

// Returns the first line of a letter to the user, in their language, and the empty line after it.
std::string greeting(const User& user);

// Return letters with a link that contains the token. `next` is that of a Registration.
outbox::Letter verification_letter(const User& user, const std::string& base_url,
                                   const std::string& token, const std::string& next);
outbox::Letter reset_letter(const User& user, const std::string& base_url,
                            const std::string& token);
// Puts a letter to the user into the outbox and returns true. An unverified address may belong to
// somebody else, so its mailbox (mailbox_of() in returning_users.h) gets a limited number of
// letters in a UTC day, counted over all accounts with such an address. Anybody can register with
// variants of an address ("+tag"), so those letters get no more than max_letters_to_unverified;
// beyond them, some are kept for whoever registers with the mailbox's plain address, and some for
// other letters, such as those with which the owner of the mailbox takes the account over. If the
// number is reached, the function does nothing and returns false. A guest gets no letters: then it
// does nothing and returns true.
enum class LetterKind { verification, other };
inline constexpr int max_letters_to_unverified = 10;
inline constexpr int more_letters_to_plain_address = 3;
inline constexpr int more_letters_of_other_kinds = 3;
bool send(db::Tx& tx, const User& user, const Keys& keys, const outbox::Letter& letter,
          LetterKind kind = LetterKind::other);
// Returns the time until send() accepts letters to such an address again.
std::chrono::seconds until_next_letters(db::Tx& tx);

// Tells the users that a security setting of their account was changed, in case it wasn't them.
// `what` is a sentence that names the change, without its full stop; `details` are whole lines, or
// empty; both are in the user's language.
outbox::Letter notice_letter(const User& user, const std::string& what, const std::string& base_url,
                             const std::string& details = {});
// Tells the user that an admin has suspended the account, and what has ended.
outbox::Letter suspension_letter(const User& user, const std::string& ended);
// Confirms that the account was deleted.
outbox::Letter deletion_letter(const User& user);

}  // namespace berth::accounts
