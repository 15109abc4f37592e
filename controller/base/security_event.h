#pragma once

#include <string>
#include <string_view>

namespace berth {

// What somebody who watches over the platform wants to know of. The names stand in log lines and in
// metrics: change them as you would change an API.
enum class SecurityKind {
  login_failed,               // a wrong password, an unknown address, a suspended account
  login_throttled,            // held off, without a look at the password or the code
  login_from_new_network,     // a success, from where the user wasn't known
  second_factor_failed,       // a wrong or used code, of an authenticator or a recovery code
  second_factor_changed,      // turned on or off, or new recovery codes
  password_changed,           // by the old password, or by mail
  token_rejected,             // session JWT, OAuth token, app's session token, link of a mail
  refresh_token_reused,       // consumed before; behind the grace its family is revoked
  authorization_code_reused,  // what it gave is revoked
  client_rejected,            // a wrong client_id or client_secret
  client_secret_changed,
  internal_secret_rejected,  // a wrong x-internal-secret
  form_rejected,             // a form of the hosted pages without its token
};
inline constexpr SecurityKind last_security_kind = SecurityKind::form_rejected;

constexpr std::string_view name(SecurityKind kind) {
  switch (kind) {
    case SecurityKind::login_failed:
      return "login_failed";
    case SecurityKind::login_throttled:
      return "login_throttled";
    case SecurityKind::login_from_new_network:
      return "login_from_new_network";
    case SecurityKind::second_factor_failed:
      return "second_factor_failed";
    case SecurityKind::second_factor_changed:
      return "second_factor_changed";
    case SecurityKind::password_changed:
      return "password_changed";
    case SecurityKind::token_rejected:
      return "token_rejected";
    case SecurityKind::refresh_token_reused:
      return "refresh_token_reused";
    case SecurityKind::authorization_code_reused:
      return "authorization_code_reused";
    case SecurityKind::client_rejected:
      return "client_rejected";
    case SecurityKind::client_secret_changed:
      return "client_secret_changed";
    case SecurityKind::internal_secret_rejected:
      return "internal_secret_rejected";
    case SecurityKind::form_rejected:
      return "form_rejected";
  }
  return "";
}

// One occurrence. `reason` is one of a closed set of words of ours, so that it can be the label of
// a metric; never anything that a caller sent.
struct SecurityEvent {
  SecurityKind kind;
  std::string_view reason = {};
  std::string user_id = {};          // empty where it isn't known whom it concerns
  std::string_view token_kind = {};  // of token_rejected: what kind of token was shown
};

}  // namespace berth
