#pragma once

#include <string>

#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/outbox.h"

// What users are written to, and the tokens in those letters. Only a token's hash is stored.
namespace berth::accounts {

enum class EmailPurpose { verify_email, reset_password };

// A token that works once, for `lifetime`.
std::string new_email_token(db::Tx& tx, const std::string& user_id, EmailPurpose purpose,
                            Duration lifetime);
// Whose token it is. Throws validation_failed where it is unknown, used or too old.
std::string check_email_token(db::Tx& tx, const std::string& token, EmailPurpose purpose);
// The same, and the token is used up: of two at once, one gets it.
std::string take_email_token(db::Tx& tx, const std::string& token, EmailPurpose purpose);
int mails_of_last_hour(db::Tx& tx, const std::string& user_id, EmailPurpose purpose);
// Until mails_of_last_hour() is one less; 0 where it is 0.
std::chrono::seconds until_one_mail_less(db::Tx& tx, const std::string& user_id,
                                         EmailPurpose purpose);

outbox::Letter verification_letter(const User& user, const std::string& base_url,
                                   const std::string& token);
outbox::Letter reset_letter(const std::string& to, const std::string& base_url,
                            const std::string& token);
// Puts a letter to the user into the outbox. To an address that isn't verified, which may be a
// victim's, at most so many go in a UTC day, whichever accounts they are about; a "+tag" in it
// doesn't make it another. False, and nothing was put, where there were enough.
inline constexpr int max_letters_to_unverified = 10;
bool send(db::Tx& tx, const User& user, const Keys& keys, const outbox::Letter& letter);
// Until send() takes letters to such an address again.
std::chrono::seconds until_next_letters(db::Tx& tx);

// That something about the account's safety was changed: who didn't do it has to know.
outbox::Letter notice_letter(const User& user, const std::string& what,
                             const std::string& base_url);
// That the account is gone.
outbox::Letter deletion_letter(const User& user);

}  // namespace berth::accounts
