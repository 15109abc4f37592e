#pragma once

#include <optional>
#include <string>

#include "api/gate/services.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/accounts/passkeys.h"

// Turns a password and a second factor, or a passkey, into a session, for the API and the hosted
// pages.
namespace berth::api {

struct SignIn {
  std::string email;
  std::string password;
  std::optional<std::string> totp_code;
  std::string address;
  std::string user_agent;
  std::optional<Duration> idle_timeout = {};  // how long the new session may be idle
};
struct SignedIn {
  accounts::Session session;
  accounts::User user;
  bool is_new_network = false;  // the user wasn't known to log in from there
  bool by_passkey = false;
};
// Returns the security log's entry for a login.
inline SecurityEvent event_of(const SignedIn& login) {
  return {.kind = login.is_new_network ? SecurityKind::login_from_new_network
                                       : SecurityKind::login_succeeded,
          .reason = login.by_passkey ? "passkey" : "success",
          .user_id = login.user.id};
}
// Logs a user in. Takes the same time, and gives the same answer, whether or not somebody has the
// address. Throws invalid_credentials; rate_limited, with the time to wait; and, only if the
// password is right, account_suspended, totp_required or invalid_totp.
SignedIn sign_in(const SignIn& attempt, const Services& services);

// Opens the session of a user whose password was verified a moment ago, by means of a code of the
// second factor. Throws invalid_credentials, invalid_totp, account_suspended or rate_limited.
struct CodeSignIn {
  std::string user_id;
  std::string password_hash;  // the one that was verified; if it has changed since, the login fails
  std::string code;
  std::string address;
  std::string user_agent;
  std::optional<Duration> idle_timeout = {};  // how long the new session may be idle
};
SignedIn sign_in_by_code(const CodeSignIn& attempt, const Services& services);

// Opens the session of the user whose passkey has answered. Since the passkey has verified the
// user, it counts as the password and as the second factor. Throws invalid_credentials, with the
// reason for the user; invalid_state if the platform has no passkeys (webauthn::relying_party);
// account_suspended or rate_limited.
struct PasskeySignIn {
  passkeys::Answer answer;
  std::string address;
  std::string user_agent;
  std::optional<Duration> idle_timeout = {};  // how long the new session may be idle
};
SignedIn sign_in_by_passkey(const PasskeySignIn& attempt, const Services& services);

// What a user presents in addition to their session if a session alone isn't enough.
struct Proof {
  std::optional<std::string> password = {};
  std::optional<std::string> totp_code = {};     // a code of the authenticator, or a recovery code
  std::optional<passkeys::Answer> passkey = {};  // proves the second factor, as a code does
  std::string address;                           // the address that the request comes from
};
// To be called before security settings are changed. What is presented must be right, and is
// recorded in the session; if nothing is presented, the session's last proof must be fresh
// (accounts::proof_fresh_for). A wrong password or code counts as a failed login. Throws
// insufficient_user_authentication, invalid_credentials, invalid_totp or rate_limited.
void require_proof(const accounts::User& user, const std::string& session_id, const Proof& proof,
                   const Services& services);
// The same, before second factors are changed. If the account has one, it must have been proven
// within accounts::proof_fresh_for, too: who knows only the password must not add a factor of their
// own, with which they could then act as an admin.
void require_factor_proof(const accounts::User& user, const std::string& session_id,
                          const Proof& proof, const Services& services);
// Returns whom passkeys are for on this platform. Throws invalid_state if browsers have no passkeys
// at its address.
webauthn::RelyingParty require_relying_party(const Services& services);

// Turns the second factor off. Guesses are limited as they are at login. Throws
// invalid_credentials, invalid_state, invalid_totp or rate_limited.
struct SecondFactorOff {
  std::string password;
  std::string code;
  std::string address;
};
void disable_totp(const accounts::User& user, const SecondFactorOff& wanted,
                  const Services& services);

// Returns the hash of the user's password if `password` is right. For operations that a session
// alone doesn't permit. Throws invalid_credentials or rate_limited.
std::string confirm_password(const accounts::User& user, const std::string& password,
                             const std::string& address, const Services& services);

}  // namespace berth::api
