// Passwords and the second factor.
#include "api/gate/encode.h"
#include "api/resources/accounts/new_password.h"
#include "api/resources/accounts/sign_in.h"
#include "api/resources/handlers.h"
#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/lifecycle/passwords.h"

namespace berth::api {
namespace {

Reply message(const char* text) { return {.body = {{"message", text}}}; }

Reply encode_codes(const char* text, const std::vector<std::string>& codes) {
  return {.body = {{"message", text}, {"recovery_codes", codes}},
          .headers = {{"Cache-Control", "no-store"}}};
}

Proof proof_in(const Call& call) {
  return {.password = text_or_nothing(call.body, "password"),
          .totp_code = text_or_nothing(call.body, "totp_code"),
          .address = call.address};
}

}  // namespace

Reply change_password(const Call& call, const Services& services) {
  try {
    change_password(*call.user,
                    {.current = call.body.at("current_password"),
                     .fresh = call.body.at("new_password"),
                     .kept_session = call.session_id,
                     .address = call.address},
                    services);
  } catch (const Error& error) {
    if (error.code != Code::validation_failed) throw;
    throw Error(error.code, "new_" + std::string(error.what()),
                {{"new_password", error.details.begin()->second}});
  }
  return message("the password was changed, and all other sessions have ended");
}

Reply forgot_password(db::Tx& tx, const Call& call, const Services& services) {
  accounts::request_reset(tx, call.body.at("email"), services.keys, services.base_url);
  return message("if an account has this address, a mail will be sent to it");
}

Reply reset_password(const Call& call, const Services& services) {
  reset_password(call.body.at("token").get<std::string>(),
                 call.body.at("password").get<std::string>(), services);
  return message("the password was changed, and all sessions have ended");
}

Reply set_up_totp(db::Tx& tx, const Call& call, const Services& services) {
  const two_factor::Setup setup = two_factor::set_up(tx, *call.user, services.keys);
  return {.body = {{"secret", setup.secret}, {"uri", setup.uri}},
          .headers = {{"Cache-Control", "no-store"}}};
}

Reply enable_totp(const Call& call, const Services& services) {
  require_proof(*call.user, call.session_id, proof_in(call), services);
  return encode_codes("logging in now requires a code; keep the recovery codes in a safe place",
                      services.db.write([&](db::Tx& tx) {
                        return two_factor::enable(tx, *call.user, call.body.at("code"),
                                                  services.keys, services.base_url);
                      }));
}

Reply disable_totp(const Call& call, const Services& services) {
  disable_totp(
      *call.user,
      {.password = call.body.at("password"), .code = call.body.at("code"), .address = call.address},
      services);
  return message("logging in no longer requires a code");
}

Reply new_recovery_codes(const Call& call, const Services& services) {
  require_proof(*call.user, call.session_id, proof_in(call), services);
  return encode_codes("these are the new recovery codes; the old ones don't work any more",
                      services.db.write([&](db::Tx& tx) {
                        return two_factor::new_recovery_codes(tx, *call.user, services.keys,
                                                              services.base_url);
                      }));
}

}  // namespace berth::api
