#pragma once

#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/keys.h"

// The second factor: codes of an authenticator app (TOTP, RFC 6238, with what every such app
// supports: SHA-1, 6 digits, 30 seconds), and recovery codes for a user who has lost the
// authenticator.
namespace berth::two_factor {

inline constexpr int step_seconds = 30;
// Accepted before and after, because clocks differ (RFC 6238, section 5.2).
inline constexpr int window_steps = 1;
inline constexpr int recovery_code_count = 10;

struct Setup {
  std::string secret;  // base32
  std::string uri;     // otpauth://totp/…, for a QR code
};
// Creates a secret, which takes effect once enable() has seen a code of it. Throws invalid_state if
// TOTP is enabled.
Setup set_up(db::Tx& tx, const accounts::User& user, const Keys& keys);
// Returns the secret that the last set_up() created. Throws invalid_state if there is none or TOTP
// is enabled.
Setup pending(db::Tx& tx, const accounts::User& user, const Keys& keys);
// Enables the second factor and tells the user by mail: from now on, login asks for a code. Returns
// the recovery codes, which can't be read again. Throws invalid_state if set_up() wasn't called or
// TOTP is enabled, and invalid_totp if the code is wrong.
std::vector<std::string> enable(db::Tx& tx, const accounts::User& user, const std::string& code,
                                const Keys& keys, const std::string& base_url);
// Disables the second factor and tells the user by mail. Throws invalid_state if TOTP isn't
// enabled, and invalid_totp if the code, which may be a recovery code, is wrong.
void disable(db::Tx& tx, const accounts::User& user, const std::string& code, const Keys& keys,
             const std::string& base_url);
// Replaces the recovery codes that are left, tells the user by mail, and returns the new ones.
// Throws invalid_state if TOTP isn't enabled.
std::vector<std::string> new_recovery_codes(db::Tx& tx, const accounts::User& user,
                                            const Keys& keys, const std::string& base_url);
int recovery_codes_left(db::Tx& tx, const std::string& user_id);

// Whether `code` is a valid code of the user's authenticator or one of their recovery codes. A
// valid code is used up; if two requests present it at the same time, one of them succeeds. Spaces
// and hyphens in it are ignored.
bool take_code(db::Tx& tx, const std::string& user_id, const std::string& code, const Keys& keys);

// Deletes the user's secret, recovery codes and passkeys without asking for a code.
void forget(db::Tx& tx, const std::string& user_id);
// The same, if the user had no second factor before `since`. Somebody who knows the password alone
// may have added the first one, but none to one that was there.
void forget_if_newer(db::Tx& tx, const std::string& user_id, Instant since);

}  // namespace berth::two_factor
