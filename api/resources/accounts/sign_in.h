#pragma once

#include <optional>
#include <string>

#include "api/gate/services.h"
#include "controller/domain/accounts/accounts.h"

// Turns a password and a second factor into a session, for the API and the hosted pages.
namespace berth::api {

struct SignIn {
  std::string email;
  std::string password;
  std::optional<std::string> totp_code;
  std::string address;
  std::string user_agent;
  std::optional<Duration> idle_timeout = {};  // of the session
};
struct SignedIn {
  accounts::Session session;
  accounts::User user;
  bool is_new_network = false;  // the user wasn't known to log in from there
};
// For the security log.
inline SecurityEvent new_network_of(const accounts::User& user) {
  return {.kind = SecurityKind::login_from_new_network, .reason = "success", .user_id = user.id};
}
// Takes as long, and says the same, whether or not somebody has the address. Throws
// invalid_credentials; account_suspended, totp_required and invalid_totp to those alone who have
// the password; rate_limited, with the time to wait.
SignedIn sign_in(const SignIn& attempt, const Services& services);

// Opens the session of a user whose password was verified a moment ago, by means of a code of the
// second factor. Throws invalid_totp, account_suspended or rate_limited.
struct CodeSignIn {
  std::string user_id;
  std::string code;
  std::string address;
  std::string user_agent;
  std::optional<Duration> idle_timeout = {};  // of the session
};
SignedIn sign_in_by_code(const CodeSignIn& attempt, const Services& services);

// What a user shows beside their session where that alone isn't enough.
struct Proof {
  std::optional<std::string> password = {};
  std::optional<std::string> totp_code = {};  // of the authenticator, or a recovery code
  std::string address;                        // where it comes from
};
// For changes of the account's safety. What is shown has to be right, and is noted on the session;
// where nothing is shown, the session's last proof has to be fresh (accounts::proof_fresh_for). A
// wrong password or code counts as a failed login. Throws insufficient_user_authentication,
// invalid_credentials, invalid_totp, rate_limited.
void require_proof(const accounts::User& user, const std::string& session_id, const Proof& proof,
                   const Services& services);

// Turns the second factor off. A code is guessed no faster here than at login. Throws
// invalid_credentials, invalid_state, invalid_totp, rate_limited.
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
