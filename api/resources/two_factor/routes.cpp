#include "api/resources/routes.h"

#include "api/resources/two_factor/handlers.h"

namespace berth::api {

std::vector<Route> two_factor_routes() {
  return {
      {.method = "POST",
       .path = "/api/auth/totp/setup",
       .name = "setUpTotp",
       .tag = "Account",
       .summary =
           "Create a secret for an authenticator; it takes effect once a code was sent to enable",
       .access = session(),
       .rate = account_writes,
       .shape = Shape::nested_but_access,
       .answer = {200, "TOTPSetupResponse"},
       .errors = {Code::invalid_state},
       .run = WriteHandler{set_up_totp}},
      {.method = "POST",
       .path = "/api/auth/totp/enable",
       .name = "enableTotp",
       .tag = "Account",
       .summary = "Make login require a code; returns recovery codes",
       .access = session(),
       .rate = password_calls,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "EnableTotpRequest",
       .answer = {200, "TOTPEnableResponse"},
       .errors = {Code::invalid_state, Code::invalid_totp, Code::invalid_credentials,
                  Code::insufficient_user_authentication},
       .run = FreeHandler{enable_totp}},
      {.method = "POST",
       .path = "/api/auth/totp/disable",
       .name = "disableTotp",
       .tag = "Account",
       .summary = "Make login require no code any more",
       .access = session(),
       .rate = password_calls,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "DisableTotpRequest",
       .answer = {200, "Message"},
       .errors = {Code::invalid_state, Code::invalid_credentials, Code::invalid_totp},
       .run = FreeHandler{disable_totp}},
      {.method = "POST",
       .path = "/api/auth/totp/recovery-codes",
       .name = "newRecoveryCodes",
       .tag = "Account",
       .summary = "Replace the recovery codes",
       .access = session(),
       .rate = password_calls,
       .shape = Shape::nested_but_access,
       .body_kind = Body::optional_json,
       .body = "ProofRequest",
       .answer = {200, "TOTPEnableResponse"},
       .errors = {Code::invalid_state, Code::invalid_totp, Code::invalid_credentials,
                  Code::insufficient_user_authentication},
       .run = FreeHandler{new_recovery_codes}},
  };
}

}  // namespace berth::api
