// The second factor: codes of an authenticator (TOTP, RFC 6238) and recovery codes.
#include "controller/domain/accounts/two_factor.h"

#include "api/gate/encode.h"
#include "api/resources/accounts/passkey_json.h"
#include "api/resources/accounts/qr_code.h"
#include "api/resources/accounts/sign_in.h"
#include "api/resources/shared.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

Reply encode_codes(const char* text, const std::vector<std::string>& codes) {
  return {.body = {{"message", text}, {"recovery_codes", codes}}};
}

Proof proof_in(const Call& call) {
  return {.password = text_or_nothing(call.body, "password"),
          .totp_code = text_or_nothing(call.body, "totp_code"),
          .address = call.address};
}

// What a passkey has answered; nothing if the body has none.
std::optional<passkeys::Answer> passkey_in(const Call& call, const Services& services) {
  const auto found = call.body.find("passkey");
  if (found == call.body.end() || found->is_null()) return std::nullopt;
  return answer_in(found->at("credential"), found->at("state"),
                   assertion_binding(call.http, services));
}

Reply set_up_totp(db::Tx& tx, const Call& call, const Services& services) {
  const two_factor::Setup setup = two_factor::set_up(tx, *call.user, services.keys);
  const QrCode code = qr_code(setup.uri);
  return {.body = {{"secret", setup.secret},
                   {"uri", setup.uri},
                   {"qr_code", {{"size", code.size}, {"path", code.path}}}}};
}

Reply enable_totp(const Call& call, const Services& services) {
  require_factor_proof(*call.user, call.session_id, proof_in(call), services);
  return encode_codes("logging in now requires a code; keep the recovery codes in a safe place",
                      services.db.write([&](db::Tx& tx) {
                        accounts::require_session(tx, call.session_id);
                        auto codes = two_factor::enable(tx, *call.user, call.body.at("code"),
                                                        services.keys, services.base_url);
                        accounts::note_second_factor(tx, call.session_id);
                        audit::record_operation(tx, "user", call.user->id);
                        return codes;
                      }));
}

Reply disable_totp(const Call& call, const Services& services) {
  disable_totp(
      *call.user,
      {.password = call.body.at("password"), .code = call.body.at("code"), .address = call.address},
      services);
  return message_reply("logging in no longer requires a code");
}

Reply step_up(const Call& call, const Services& services) {
  Proof proof = proof_in(call);
  proof.passkey = passkey_in(call, services);
  if (!proof.password && !proof.totp_code && !proof.passkey)
    throw invalid_field("totp_code", "is required, or password, or passkey");
  require_proof(*call.user, call.session_id, proof, services);
  return message_reply("the proof counts for this session from now on");
}

Reply new_recovery_codes(const Call& call, const Services& services) {
  require_factor_proof(*call.user, call.session_id, proof_in(call), services);
  return encode_codes("these are the new recovery codes; the old ones no longer work",
                      services.db.write([&](db::Tx& tx) {
                        audit::record_operation(tx, "user", call.user->id);
                        return two_factor::new_recovery_codes(tx, *call.user, services.keys,
                                                              services.base_url);
                      }));
}

constexpr Route rows[] = {
    {.request = "POST /api/auth/totp/setup",
     .name = "setUpTotp",
     .tag = "Account",
     .summary = "Create a secret for an authenticator; it takes effect once a code has been sent "
                "to enable",
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
             "The password is asked for unless it was entered recently.",
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
     .summary = "Stop requiring a code at login",
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
     .text = "Proves the password, or the second factor by a code or a passkey, again in this "
             "session. It is required to "
             "change factors, and for the console's calls below /api/internal/, for which the "
             "proof counts for 15 minutes, or for 12 hours if they only read.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::sign_in,
     .body = {"StepUpRequest"},
     .answer = {200, "Message"},
     .errors = {Code::invalid_state, Code::invalid_totp, Code::invalid_credentials},
     .event = {SecurityKind::proof_given, "step_up"},
     .served_by = {.page = "/console/admin"},
     .run = FreeHandler{step_up}},
};

}  // namespace

std::span<const Route> two_factor_routes() { return rows; }

}  // namespace berth::api
