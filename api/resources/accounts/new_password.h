#pragma once

#include <string>

#include "api/gate/services.h"
#include "controller/domain/accounts/accounts.h"

// Where somebody chooses a password; for the API and for the hosted pages. A hash takes some 20 ms,
// so it is computed outside any transaction, and only for what has passed every cheaper check.
namespace berth::api {

// A new account. `wanted` comes without a hash. Throws validation_failed.
accounts::User sign_up(accounts::Registration wanted, const std::string& password,
                       const Services& services);

struct PasswordChange {
  std::string current;
  std::string fresh;
  std::string kept_session;  // all the user's others end
  std::string address;
};
// Throws validation_failed (field `password`), invalid_credentials, rate_limited.
void change_password(const accounts::User& user, const PasswordChange& change,
                     const Services& services);

// By a token that was mailed. Throws validation_failed.
void reset_password(const std::string& token, const std::string& password,
                    const Services& services);

}  // namespace berth::api
