// Passwords.
#include "api/resources/passwords/handlers.h"

#include "api/resources/accounts/new_password.h"
#include "controller/domain/lifecycle/passwords.h"

namespace berth::api {

Reply change_password(const Call& call, const Services& services) {
  const auto others =
      call.body.value("end_others", true) ? accounts::OtherWays::end : accounts::OtherWays::keep;
  try {
    change_password(*call.user,
                    {.current = call.body.at("current_password"),
                     .fresh = call.body.at("new_password"),
                     .kept_session = call.session_id,
                     .others = others,
                     .address = call.address},
                    services);
  } catch (const Error& error) {
    if (error.code != Code::validation_failed) throw;
    throw Error(error.code, "new_" + std::string(error.what()),
                {{"new_password", error.details.begin()->second}});
  }
  return message_reply(
      others == accounts::OtherWays::end
          ? "the password was changed, and all other sessions have ended, as have the tokens of "
            "programs and apps"
          : "the password was changed; other sessions and tokens go on");
}

Reply forgot_password(db::Tx& tx, const Call& call, const Services&) {
  accounts::request_reset(tx, call.body.at("email"));
  return message_reply("if an account has this address, a mail will be sent to it");
}

Reply reset_password(const Call& call, const Services& services) {
  reset_password(call.body.at("token").get<std::string>(),
                 call.body.at("password").get<std::string>(), services);
  return message_reply(
      "the password was changed, and all sessions have ended, as have the tokens of programs and "
      "apps");
}

}  // namespace berth::api
