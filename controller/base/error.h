#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/security_event.h"

namespace berth {

// Every way in which an operation can be refused. The names and HTTP statuses are in one table in
// error.cpp, which needs a row for each new code.
enum class Code {
  // 400
  invalid_json,
  query_too_short,
  malformed_request,
  invalid_request,
  invalid_grant,
  invalid_scope,
  invalid_target,
  unsupported_grant_type,
  unsupported_response_type,
  unauthorized_client,
  login_required,
  consent_required,
  interaction_required,
  request_not_supported,
  request_uri_not_supported,
  // 401
  invalid_token,
  token_expired,
  token_revoked,
  wrong_token_type,
  invalid_credentials,
  totp_required,
  invalid_totp,
  invalid_client,
  consumed_refresh_token,
  insufficient_user_authentication,
  // 403
  insufficient_scope,
  forbidden,
  email_not_verified,
  guest_account,
  tier_not_allowed,
  exec_not_allowed,
  account_suspended,
  deployment_suspended,
  // 404
  not_found,
  app_not_found,
  deployment_not_found,
  domain_not_found,
  scope_request_not_found,
  tier_not_found,
  user_not_found,
  session_not_found,
  device_not_found,
  passkey_not_found,
  log_entry_not_found,
  webhook_not_found,
  alert_not_found,
  campaign_not_found,
  no_ad_available,
  placement_not_found,
  pricing_not_found,
  segment_not_found,
  package_not_found,
  purchase_not_found,
  friendship_not_found,
  channel_not_found,
  message_not_found,
  cosmetic_not_found,
  module_not_found,
  build_not_found,
  run_not_found,
  cron_not_found,
  creative_not_found,
  invitation_not_found,
  trust_not_found,
  issuer_not_found,
  // 405, 409, 413, 415, 426, 431
  method_not_allowed,
  subdomain_taken,
  domain_taken,
  already_owned,
  idempotency_conflict,
  invalid_state,
  preview_outdated,
  budget_reached,
  run_limit_reached,
  body_too_large,
  unsupported_media_type,
  upgrade_required,
  headers_too_large,
  // 422
  validation_failed,
  insufficient_balance,
  unsupported_registry,
  unknown_tier,
  payment_method_unsupported,
  deployment_destroyed,
  app_limit_reached,
  spend_limit_reached,
  refund_exceeds_spend,
  bonus_locked,
  cosmetic_unavailable,
  builds_unavailable,
  // 429
  rate_limited,
  deployment_limit_reached,
  build_limit_reached,
  // 5xx
  internal_error,
  unavailable,
  too_slow,
};

struct CodeInfo {
  Code code;
  std::string_view name;     // as it appears in the body of the answer
  int status;                // the HTTP status
  std::string_view meaning;  // for the documentation
};

// Returns the row of a code in the table.
const CodeInfo& info(Code code);
inline std::string_view name(Code code) { return info(code).name; }
inline int status(Code code) { return info(code).status; }
std::span<const CodeInfo> all_codes();

// Maps fields to the reasons why they were refused. A field inside another one is written with
// dots, such as `env_vars.PATH`.
using Details = std::map<std::string, std::vector<std::string>>;

// The only exception type of the domain. It is thrown where an operation ends, and caught where it
// is turned into an answer, a retry or a log line. `what()` is a sentence for the caller and never
// contains a secret.
struct Error : std::runtime_error {
  Error(Code error_code, const std::string& message, Details error_details = {})
      : std::runtime_error(message), code(error_code), details(std::move(error_details)) {}
  Code code;
  Details details;
  std::optional<std::chrono::seconds> retry_after = {};  // set if trying again later helps
  // An entry for the security log, if this error matters for security.
  std::optional<SecurityEvent> event = {};
};

// Returns the error with an entry for the security log.
inline Error with_event(Error error, SecurityEvent event) {
  error.event = std::move(event);
  return error;
}

// Returns the error 422 validation_failed for one field.
inline Error invalid_field(const std::string& field, const std::string& reason) {
  return Error(Code::validation_failed, field + " " + reason, {{field, {reason}}});
}

}  // namespace berth
