#pragma once

#include <string>

#include "api/gate/services.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/lifecycle/passwords.h"

// The operations in which a user chooses a password, for the API and the hosted pages. A hash takes
// about 20 ms, so it is computed outside of any transaction, and only after every cheaper check.
namespace berth::api {

// Creates an account. `wanted` comes without a password hash. Throws validation_failed, which names
// every field that is wrong.
accounts::User sign_up(accounts::Registration wanted, const std::string& password,
                       const Services& services);

// Makes a guest an account, with the rules of sign_up(). Throws validation_failed, and
// invalid_state if the account isn't a guest's.
accounts::User upgrade_guest(const std::string& guest_id, accounts::Registration wanted,
                             const std::string& password, const Services& services);

struct PasswordChange {
  std::string current;
  std::string fresh;
  std::string kept_session;  // the session that doesn't end
  accounts::OtherWays others = accounts::OtherWays::end;
  std::string address;
};
// Changes the user's password. Throws validation_failed (field `password`), invalid_credentials or
// rate_limited.
void change_password(const accounts::User& user, const PasswordChange& change,
                     const Services& services);

// Sets a new password by means of a token that was mailed. Throws validation_failed.
void reset_password(const std::string& token, const std::string& password,
                    const Services& services);

}  // namespace berth::api
