#pragma once

#include <string>
#include <string_view>

namespace berth {

// The kinds of entries in the security log, for those who watch over the platform. Their names
// appear in log lines and metrics, so changing one is like changing an API.
enum class SecurityKind {
  login_failed,     // a wrong password, an unknown address, a suspended account
  login_throttled,  // refused because of too many attempts, without checking the password or code
  login_from_new_network,  // a successful login from a network that is new for the user
  second_factor_failed,    // a wrong or used code of an authenticator, or a wrong recovery code
  second_factor_changed,   // turned on or off, or new recovery codes
  password_changed,        // with the old password or by mail
  token_rejected,  // a session JWT, an OAuth token, an app's session token, or the link in a mail
  refresh_token_reused,       // was consumed before; after the grace period its family is revoked
  authorization_code_reused,  // everything that it gave is revoked
  client_rejected,            // a wrong client_id or client_secret
  client_secret_changed,
  internal_secret_rejected,  // a wrong x-internal-secret
  form_rejected,             // a form of the hosted pages without a valid token
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

// An entry in the security log. `reason` is one of a closed set of berth's own words, so that it
// can be a metric's label; it never contains anything that a caller sent.
struct SecurityEvent {
  SecurityKind kind;
  std::string_view reason = {};
  std::string user_id = {};          // empty if it isn't known
  std::string_view token_kind = {};  // for token_rejected: what kind of token was presented
};

}  // namespace berth
