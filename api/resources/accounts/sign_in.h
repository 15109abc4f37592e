#pragma once

#include <optional>
#include <string>

#include "api/gate/services.h"
#include "controller/domain/accounts/accounts.h"

// How a password, and a second factor, become a session; for the API and for the hosted pages.
namespace berth::api {

struct SignIn {
  std::string email;
  std::string password;
  std::optional<std::string> totp_code;
  std::string address;
  std::string user_agent;
};
struct SignedIn {
  accounts::Session session;
  accounts::User user;
};
// Takes as long, and says the same, whether or not somebody has the address. Throws
// invalid_credentials; account_suspended, totp_required and invalid_totp to those alone who have
// the password; rate_limited, with the time to wait.
SignedIn sign_in(const SignIn& attempt, const Services& services);

// The session of somebody whose password was right a moment ago, by a code. Throws invalid_totp,
// account_suspended, rate_limited.
struct CodeSignIn {
  std::string user_id;
  std::string code;
  std::string address;
  std::string user_agent;
};
SignedIn sign_in_by_code(const CodeSignIn& attempt, const Services& services);

// Turns the second factor off. A code is guessed no faster here than at login. Throws
// invalid_credentials, invalid_state, invalid_totp, rate_limited.
struct SecondFactorOff {
  std::string password;
  std::string code;
  std::string address;
};
void disable_totp(const accounts::User& user, const SecondFactorOff& wanted,
                  const Services& services);

// The hash of the user's password, where `password` is it. For what a session alone doesn't allow.
// Throws invalid_credentials, rate_limited.
std::string confirm_password(const accounts::User& user, const std::string& password,
                             const std::string& address, const Services& services);

}  // namespace berth::api
