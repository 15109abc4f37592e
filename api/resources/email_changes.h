#pragma once

#include <optional>
#include <string>

#include "api/gate/services.h"
#include "controller/domain/accounts/accounts.h"

namespace berth::api {

struct EmailChange {
  std::string new_email;
  std::string password;
  std::optional<std::string> totp_code = {};  // required if the account has TOTP
  std::string session_id;
  std::string address;  // the address that the request comes from
};
// Asks for another address of the user's account (email_changes.h), after checking the password and
// the second factor, which passkeys must have proven before (require_factor_proof()). For the API
// and the hosted pages. Throws what require_factor_proof() throws (a wrong password counts as a
// failed login); totp_required; validation_failed; and rate_limited.
void ask_for_email_change(const accounts::User& user, const EmailChange& change,
                          const Services& services);

}  // namespace berth::api
