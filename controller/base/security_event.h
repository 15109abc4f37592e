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
  login_succeeded,         // any other successful login
  proof_given,             // the password or second factor was entered again in a session
  session_ended,           // by logging out, from the list of sessions, or by an app
  account_registered,
  account_deleted,
  account_changed,           // name or language, or the address was verified or is to be
  second_factor_failed,      // a wrong or used code of an authenticator, or a wrong recovery code
  second_factor_changed,     // turned on or off, or new recovery codes
  password_changed,          // with the old password or by mail
  password_reset_requested,  // a mail with a link was asked for, for whatever address
  token_rejected,  // a session JWT, an OAuth token, an app's session token, or the link in a mail
  refresh_token_reused,       // was consumed before; after the grace period its family is revoked
  authorization_code_reused,  // everything that it gave is revoked
  token_issued,
  token_revoked,
  consent_changed,       // a user gave an app access, refused it, limited or ended it
  device_requested,      // a device without a browser asked for a login
  device_decided,        // a user allowed it or refused it
  device_code_rejected,  // a user entered a wrong or old code of a device
  client_rejected,       // a wrong client_id or client_secret
  client_secret_changed,
  app_changed,     // an app or one of its webhooks was created, changed or deleted, or its scopes
  admin_action,    // a change by an admin; `reason` is the operation
  access_refused,  // the caller is known and may not do this (403), such as with another's app
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
    case SecurityKind::login_succeeded:
      return "login_succeeded";
    case SecurityKind::proof_given:
      return "proof_given";
    case SecurityKind::session_ended:
      return "session_ended";
    case SecurityKind::account_registered:
      return "account_registered";
    case SecurityKind::account_deleted:
      return "account_deleted";
    case SecurityKind::account_changed:
      return "account_changed";
    case SecurityKind::second_factor_failed:
      return "second_factor_failed";
    case SecurityKind::second_factor_changed:
      return "second_factor_changed";
    case SecurityKind::password_changed:
      return "password_changed";
    case SecurityKind::password_reset_requested:
      return "password_reset_requested";
    case SecurityKind::token_rejected:
      return "token_rejected";
    case SecurityKind::refresh_token_reused:
      return "refresh_token_reused";
    case SecurityKind::authorization_code_reused:
      return "authorization_code_reused";
    case SecurityKind::token_issued:
      return "token_issued";
    case SecurityKind::token_revoked:
      return "token_revoked";
    case SecurityKind::consent_changed:
      return "consent_changed";
    case SecurityKind::device_requested:
      return "device_requested";
    case SecurityKind::device_decided:
      return "device_decided";
    case SecurityKind::device_code_rejected:
      return "device_code_rejected";
    case SecurityKind::client_rejected:
      return "client_rejected";
    case SecurityKind::client_secret_changed:
      return "client_secret_changed";
    case SecurityKind::app_changed:
      return "app_changed";
    case SecurityKind::admin_action:
      return "admin_action";
    case SecurityKind::access_refused:
      return "access_refused";
    case SecurityKind::internal_secret_rejected:
      return "internal_secret_rejected";
    case SecurityKind::form_rejected:
      return "form_rejected";
  }
  return "";
}

// Whether strangers can cause as many of these events as they like, so that their lines have to be
// limited. The others are what users, apps and admins do, each of which has its line.
constexpr bool is_limited(SecurityKind kind) {
  switch (kind) {
    case SecurityKind::login_failed:
    case SecurityKind::login_throttled:
    case SecurityKind::second_factor_failed:
    case SecurityKind::password_reset_requested:
    case SecurityKind::token_rejected:
    case SecurityKind::refresh_token_reused:
    case SecurityKind::authorization_code_reused:
    case SecurityKind::device_requested:
    case SecurityKind::device_code_rejected:
    case SecurityKind::client_rejected:
    case SecurityKind::access_refused:
    case SecurityKind::internal_secret_rejected:
    case SecurityKind::form_rejected:
      return true;
    default:
      return false;
  }
}

// An entry in the security log. `reason` is one of a closed set of berth's own words, so that it
// can be a metric's label; it never contains anything that a caller sent.
struct SecurityEvent {
  SecurityKind kind;
  std::string_view reason = {};
  std::string user_id = {};          // empty: that of the thread's claimant (base/shares.h), if any
  std::string_view token_kind = {};  // for token_rejected: what kind of token was presented
};

}  // namespace berth
