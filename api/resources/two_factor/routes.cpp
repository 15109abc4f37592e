#include "api/resources/shared.h"
#include "api/resources/two_factor/handlers.h"

namespace berth::api {
namespace {

constexpr Route rows[] = {
    {.request = "POST /api/auth/totp/setup",
     .name = "setUpTotp",
     .tag = "Account",
     .summary =
         "Create a secret for an authenticator; it takes effect once a code was sent to enable",
     .text = "Creates a secret that replaces one that wasn't enabled. Login doesn't change until a "
             "code is sent to enable.",
     .guards = {session(), account_writes, Shape::nested_but_access},
     .stores = Stores::account,
     .answer = {200, "TOTPSetupResponse"},
     .errors = {Code::invalid_state},
     .event = {SecurityKind::second_factor_changed, "set_up"},
     .served_by = {"berth totp setup", "/console/account"},
     .run = WriteHandler{set_up_totp}},
    {.request = "POST /api/auth/totp/enable",
     .name = "enableTotp",
     .tag = "Account",
     .summary = "Make login require a code; returns recovery codes",
     .text = "Turns the second factor on, and returns ten recovery codes, which are shown once. "
             "The password is asked for unless it was entered lately.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::account,
     .body = {"EnableTotpRequest"},
     .answer = {200, "TOTPEnableResponse"},
     .errors = {Code::invalid_state, Code::invalid_totp, Code::invalid_credentials,
                Code::insufficient_user_authentication},
     .event = {SecurityKind::second_factor_changed, "enabled"},
     .served_by = {"berth totp enable", "/console/account"},
     .run = FreeHandler{enable_totp}},
    {.request = "POST /api/auth/totp/disable",
     .name = "disableTotp",
     .tag = "Account",
     .summary = "Make login require no code any more",
     .text = "Turns the second factor off, given the password and a code. The recovery codes stop "
             "working.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::account,
     .body = {"DisableTotpRequest"},
     .answer = {200, "Message"},
     .errors = {Code::invalid_state, Code::invalid_credentials, Code::invalid_totp},
     .event = {SecurityKind::second_factor_changed, "disabled"},
     .served_by = {"berth totp disable", "/console/account"},
     .run = FreeHandler{disable_totp}},
    {.request = "POST /api/auth/totp/recovery-codes",
     .name = "newRecoveryCodes",
     .tag = "Account",
     .summary = "Replace the recovery codes",
     .text = "Creates ten recovery codes, which are shown once; the old ones stop working.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::account,
     .body = {"ProofRequest", Body::Form::optional_json},
     .answer = {200, "TOTPEnableResponse"},
     .errors = {Code::invalid_state, Code::invalid_totp, Code::invalid_credentials,
                Code::insufficient_user_authentication},
     .event = {SecurityKind::second_factor_changed, "new_recovery_codes"},
     .served_by = {"berth totp recovery-codes", "/console/account"},
     .run = FreeHandler{new_recovery_codes}},
    {.request = "POST /api/auth/step-up",
     .name = "stepUp",
     .tag = "Account",
     .summary = "Prove the password or the second factor again in this session",
     .text =
         "Proves the password or the second factor again in this session. Changing factors wants "
         "it, and the console's calls below /api/internal/, where the proof counts for 15 minutes.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::sign_in,
     .body = {"StepUpRequest"},
     .answer = {200, "Message"},
     .errors = {Code::invalid_totp, Code::invalid_credentials},
     .event = {SecurityKind::proof_given, "step_up"},
     .served_by = {.page = "/console/admin"},
     .run = FreeHandler{step_up}},
};

}  // namespace

std::span<const Route> two_factor_routes() { return rows; }

}  // namespace berth::api
