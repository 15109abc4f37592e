#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/reserved_names.h"
#include "controller/domain/kernel/keys.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/kernel/use_log.h"

// User accounts and their sessions. Functions throw berth::Error where they refuse.
namespace berth::accounts {

// Limits of the specification ("Limits") and of ours. Lengths count characters, not bytes.
inline constexpr size_t min_username_length = 2;
inline constexpr size_t max_username_length = 32;
inline constexpr size_t max_email_length = 254;  // RFC 5321, section 4.5.3.1.3
inline constexpr Duration verification_lifetime = std::chrono::hours(24);
inline constexpr int max_verification_mails_per_hour = 5;  // of one account

struct User {
  std::string id;
  std::string email;
  std::string username;
  std::string tier;
  bool is_admin = false;
  bool email_verified = false;
  bool totp_enabled = false;
  bool suspended = false;
  std::int64_t points = 0;
  std::string referral_code;
  std::int64_t registration_number = 0;
  std::int64_t signup_multiplier = 1;
  Instant created_at;
};

struct Stats {
  std::int64_t direct_referrals = 0;
  std::int64_t connected_apps = 0;
  std::int64_t total_earned = 0;  // the sum of what was ever posted to the user's account
  std::int64_t total_spent = 0;   // the sum of what was ever posted from it
};

struct Registration {
  std::string email;
  std::string username;
  std::string password_hash;  // by PasswordHasher, before the transaction
  std::optional<std::string> referral_code;
};

// What the treasury pays for signing up, and the multiplier by registration number: configuration
// key `rewards`.
struct SignupBonus {
  std::int64_t points = 100;
  std::int64_t daily_points = 1'000'000;  // for all sign-ups of a UTC day together
  std::int64_t first_count = 100, first_multiplier = 5;
  std::int64_t early_count = 1000, early_multiplier = 2;
};

// Each is 422 validation_failed where it breaks a rule; for passwords see passwords.h.
void check_email(std::string_view email);
void check_username(std::string_view username);
// 422 validation_failed where nobody may take the name.
void check_not_reserved(std::string_view username, const ReservedNames& reserved);

// A new account, and the mail that verifies its address, in the outbox. Refused with
// validation_failed where address or username are taken or the referral code is unknown.
User register_user(db::Tx& tx, const Registration& registration, const SignupBonus& bonus,
                   const Keys& keys, const std::string& base_url);

std::optional<User> find(db::Tx& tx, const std::string& id);
Stats stats(db::Tx& tx, const std::string& id);
// By the rules of registration, and free of another's; a reserved name only where it is the user's
// own already, in another case of its letters. Throws validation_failed.
User rename(db::Tx& tx, const std::string& id, const std::string& username,
            const ReservedNames& reserved);

// The mailed token works once, for verification_lifetime. Throws validation_failed.
void verify_email(db::Tx& tx, const std::string& token, const SignupBonus& bonus);
// Pays the sign-up bonus the first time, from the treasury; where that has too little, or the day's
// limit is reached, there is none, and the log says so. Somebody who returns (returning_users.h)
// gets none.
void mark_verified(db::Tx& tx, const std::string& user_id, const SignupBonus& bonus = {});
// Mails a new token. Throws invalid_state where the address is verified; rate_limited.
void resend_verification(db::Tx& tx, const User& user, const Keys& keys,
                         const std::string& base_url);

// What login compares the password with. The address is matched without regard to case.
struct Credentials {
  std::string user_id;
  std::string password_hash;
};
std::optional<Credentials> credentials(db::Tx& tx, std::string_view email);
// The lower-case form in which user names and addresses are compared.
std::string folded(std::string_view text);
// The form in which an address is compared and counted.
std::string email_key(std::string_view email);

struct Session {
  std::string id;
  std::string user_id;
  Instant created_at;
  Instant expires_at;
};
// Throws account_suspended. The oldest sessions end where there are too many (sessions.h). With
// `idle_timeout`, of more than 0, it also ends when it isn't used for that long.
Session open_session(db::Tx& tx, const std::string& user_id, const std::string& address,
                     const std::string& user_agent, Duration lifetime,
                     std::optional<Duration> idle_timeout = {});

// The session's JWT (RFC 7519): HS256 with the first session key, claims sub, sid, iat, exp.
std::string session_jwt(const Session& session, const Keys& keys);
// Whether the text has the shape of a JWT: three parts with dots between them.
bool looks_like_jwt(std::string_view token);
struct SignedIn {
  User user;
  std::string session_id;
  bool ends_idle = false;  // uses are to be noted in SessionUses
};
// Whose session JWT it is. `uses`: the last uses that aren't in the row yet. Throws invalid_token,
// token_expired, token_revoked, account_suspended.
SignedIn check_signed_in(db::Tx& tx, const std::string& jwt, const Keys& keys,
                         const UseLog* uses = nullptr);
User check_session(db::Tx& tx, const std::string& jwt, const Keys& keys);

// All accounts that weren't deleted, newest first. `search`: a part of the address or of the user
// name, in any case.
Page<User> list_users(db::Tx& tx, const std::optional<std::string>& search,
                      const PageRequest& page);

}  // namespace berth::accounts
