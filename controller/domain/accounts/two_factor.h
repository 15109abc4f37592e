#pragma once

#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/keys.h"

// The second factor: codes of an authenticator (TOTP, RFC 6238, with what every app takes: SHA-1, 6
// digits, 30 seconds) and recovery codes for when it is lost.
namespace berth::two_factor {

inline constexpr int step_seconds = 30;
inline constexpr int window_steps = 1;  // before and after: clocks differ (RFC 6238, section 5.2)
inline constexpr int recovery_code_count = 10;

struct Setup {
  std::string secret;  // base32
  std::string uri;     // otpauth://totp/…, for a QR code
};
// A new secret; it counts once enable() has seen a code of it. Throws invalid_state where TOTP is
// enabled.
Setup set_up(db::Tx& tx, const accounts::User& user, const Keys& keys);
// The one of the last set_up(). Throws invalid_state where there is none, or TOTP is enabled.
Setup pending(db::Tx& tx, const accounts::User& user, const Keys& keys);
// From now on login asks for a code. Returns the recovery codes, which can't be had again. Throws
// invalid_state where nothing was set up or TOTP is enabled; invalid_totp.
std::vector<std::string> enable(db::Tx& tx, const accounts::User& user, const std::string& code,
                                const Keys& keys, const std::string& base_url);
// Throws invalid_state where it isn't enabled; invalid_totp.
void disable(db::Tx& tx, const accounts::User& user, const std::string& code, const Keys& keys,
             const std::string& base_url);
// In the place of those that are left, and a mail that says so. Throws invalid_state where TOTP
// isn't enabled.
std::vector<std::string> new_recovery_codes(db::Tx& tx, const accounts::User& user,
                                            const Keys& keys, const std::string& base_url);
int recovery_codes_left(db::Tx& tx, const std::string& user_id);

// Whether `code` is one of the authenticator's, or a recovery code, of this user; it is used up
// then: of two at once, one wins. Spaces and hyphens in it don't count.
bool take_code(db::Tx& tx, const std::string& user_id, const std::string& code, const Keys& keys);

// Removes everything of it, without a question.
void forget(db::Tx& tx, const std::string& user_id);

}  // namespace berth::two_factor
