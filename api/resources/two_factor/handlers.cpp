// The second factor.
#include "api/resources/two_factor/handlers.h"

#include "api/gate/encode.h"
#include "api/resources/accounts/sign_in.h"
#include "controller/domain/accounts/two_factor.h"

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

}  // namespace

Reply set_up_totp(db::Tx& tx, const Call& call, const Services& services) {
  const two_factor::Setup setup = two_factor::set_up(tx, *call.user, services.keys);
  return {.body = {{"secret", setup.secret}, {"uri", setup.uri}}};
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
  return message_reply("logging in no longer requires a code");
}

Reply step_up(const Call& call, const Services& services) {
  const Proof proof = proof_in(call);
  if (!proof.password && !proof.totp_code)
    throw invalid_field("totp_code", "is required, or password");
  require_proof(*call.user, call.session_id, proof, services);
  return message_reply("the proof counts for this session from now on");
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
