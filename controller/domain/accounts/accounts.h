#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/base/mail_address.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/admin_roles.h"
#include "controller/domain/accounts/reserved_names.h"
#include "controller/domain/kernel/keys.h"
#include "controller/domain/kernel/messages.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/kernel/use_log.h"

// User accounts and their sessions. Functions throw berth::Error if they refuse.
namespace berth::accounts {

// Limits of the specification (section "Limits") and of berth.
inline constexpr size_t min_username_length = 2;  // characters
inline constexpr size_t max_username_length = 32;
inline constexpr size_t max_email_length = max_mail_address;
inline constexpr Duration verification_lifetime = std::chrono::hours(24);
inline constexpr int max_verification_mails_per_hour = 5;  // for each account

struct User {
  std::string id;
  std::string email;
  std::string username;
  std::string tier;
  bool is_admin = false;
  std::optional<AdminRole> admin_role = {};  // set if is_admin is
  bool email_verified = false;
  bool totp_enabled = false;
  std::int64_t passkeys = 0;  // their number
  bool suspended = false;
  bool is_guest = false;  // guests.h
  std::int64_t points = 0;
  std::string referral_code;
  std::int64_t registration_number = 0;
  std::int64_t signup_multiplier = 1;
  Language language = Language::en;  // of the mails to the user
  Instant created_at;

  // Whether they can prove more than a password: by a code or by a passkey.
  bool has_second_factor() const { return totp_enabled || passkeys > 0; }
};

struct Stats {
  std::int64_t direct_referrals = 0;
  std::int64_t connected_apps = 0;
  std::int64_t total_earned = 0;  // sum of all postings to the user's account
  std::int64_t total_spent = 0;   // sum of all postings from it
};

struct Registration {
  std::string email;
  std::string username;
  std::string password_hash;  // from PasswordHasher, computed before the transaction
  std::optional<std::string> referral_code;
  // Where the link in the mail leads on to: a path of berth's own, or empty.
  std::string next = {};
  // Whether the account becomes the platform's admin if it is the first one.
  bool may_be_admin = false;
  Language language = Language::en;
};
inline constexpr size_t max_next_length = 1500;  // a longer path isn't put into mails

// The points that the treasury pays for signing up, and the multipliers of the first and the early
// users by their registration number. Configuration key `rewards`.
struct SignupBonus {
  std::int64_t points = 100;
  std::int64_t daily_points = 1'000'000;  // for all sign-ups of a UTC day together
  std::int64_t first_count = 100, first_multiplier = 5;
  std::int64_t early_count = 1000, early_multiplier = 2;
};

// Throw validation_failed if the value breaks a rule. Passwords are checked in
// lifecycle/passwords.h.
void check_email(std::string_view email, const std::string& field = "email");
void check_username(std::string_view username);
// Throws validation_failed for the field if the name could pass for the platform's own. For names
// of all kinds that others read: of users, apps and avatars.
void check_name(const std::string& field, std::string_view name, const ReservedNames& reserved);
// The same for a username.
void check_not_reserved(std::string_view username, const ReservedNames& reserved);

// Throws validation_failed that names the fields of address and username that are taken.
void check_not_taken(db::Tx& tx, const Registration& registration);
// Creates an account, and puts the mail that verifies its address into the outbox. The caller has
// checked the values with the functions above. Throws validation_failed if the address or the
// username is taken or was given up a short time ago (given_up_names.h), or the referral code is
// unknown; and rate_limited if the address may get no further mail today (send() in
// account_mail.h).
User register_user(db::Tx& tx, const Registration& registration, const SignupBonus& bonus,
                   const Keys& keys, const std::string& base_url);

// Makes a guest (guests.h) an account, as register_user() would have: it gets the address, the
// username and the password hash, a registration number and its multiplier, and a mail that
// verifies the address. Its id, points, friends and items stay. A referral code and `may_be_admin`
// are ignored. Throws what register_user() throws, and invalid_state if the account isn't a guest's
// (any more): of two calls at once, one wins.
User become_account(db::Tx& tx, const std::string& guest_id, const Registration& registration,
                    const SignupBonus& bonus, const Keys& keys, const std::string& base_url);

// Returns nothing if there is no such account or it was deleted.
std::optional<User> find(db::Tx& tx, const std::string& id);
Stats stats(db::Tx& tx, const std::string& id);
// Returns when the account was last changed; nothing if there is no such account.
std::optional<Instant> updated_at(db::Tx& tx, const std::string& id);
// Changes the username. The rules of registration apply; a reserved name is accepted only if it is
// the user's present name in other upper and lower case. The old name stays reserved for the user
// (given_up_names.h). Throws validation_failed if the name breaks a rule or is taken, and
// user_not_found.
User rename(db::Tx& tx, const std::string& id, const std::string& username,
            const ReservedNames& reserved);

// Verifies the address that the token was mailed to. The token works once, within
// verification_lifetime. Returns the user's id. Throws validation_failed if it doesn't work.
std::string verify_email(db::Tx& tx, const std::string& token, const SignupBonus& bonus);
// Marks the address as verified. The first time, the treasury pays the sign-up bonus; if it has too
// few points or the day's limit is reached, no bonus is paid and the log says so. A returning user
// (returning_users.h) gets no bonus.
void mark_verified(db::Tx& tx, const std::string& user_id, const SignupBonus& bonus = {});
// Mails a new token. Throws invalid_state if the address is already verified, and rate_limited
// after max_verification_mails_per_hour or if the address may get no further mail today. `next` is
// that of a Registration.
void resend_verification(db::Tx& tx, const User& user, const Keys& keys,
                         const std::string& base_url, const std::string& next = {});

// What login compares a password with. Addresses are compared by email_key(). Returns nothing if no
// account has the address.
struct Credentials {
  std::string user_id;
  std::string password_hash;
};
std::optional<Credentials> credentials(db::Tx& tx, std::string_view email);
// Returns the lower-case form in which usernames are compared.
std::string folded(std::string_view text);
// Returns the canonical form in which an address is stored beside what was typed, and in which it
// is compared and counted everywhere (mail_address.h). A text without such a form, which is
// nobody's address, is returned in lower case.
std::string email_key(std::string_view email);

struct Session {
  std::string id;
  std::string user_id;
  Instant created_at;
  Instant expires_at;
};
// Opens a session that ends after `lifetime`, and also when it isn't used for `idle_timeout`, if
// that is given and greater than 0. If the user then has too many sessions, the oldest ones end
// (sessions.h). Throws account_suspended, guest_account, and invalid_credentials if the account
// doesn't exist or was deleted.
Session open_session(db::Tx& tx, const std::string& user_id, const std::string& address,
                     const std::string& user_agent, Duration lifetime,
                     std::optional<Duration> idle_timeout = {});

// Returns the session's JWT (RFC 7519), signed by HS256 with the first session key; its claims are
// sub, sid, iat and exp.
std::string session_jwt(const Session& session, const Keys& keys);
// Whether the text has the form of a JWT: three parts with dots between them.
bool looks_like_jwt(std::string_view token);
struct SignedIn {
  User user;
  std::string session_id;
  bool ends_idle = false;  // its uses have to be recorded in SessionUses
};
// Returns the user and session that a session JWT belongs to. `uses` holds the last uses that
// aren't written to the session's row yet. Throws invalid_token, token_expired, token_revoked or
// account_suspended.
SignedIn check_signed_in(db::Tx& tx, const std::string& jwt, const Keys& keys,
                         const UseLog* uses = nullptr);
// Like check_signed_in(), for callers that need only the user.
User check_session(db::Tx& tx, const std::string& jwt, const Keys& keys);

// Returns all accounts that aren't deleted, newest first. `search` is the beginning of the address
// or of the username, or a part of the username of an account that isn't suspended, in upper or
// lower case.
Page<User> list_users(db::Tx& tx, const std::optional<std::string>& search,
                      const PageRequest& page);

}  // namespace berth::accounts
