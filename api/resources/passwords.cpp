// Passwords: changing one, and setting a new one by a token that was mailed.
#include "controller/domain/lifecycle/passwords.h"

#include "api/resources/accounts/new_password.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

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
          : "the password was changed; other sessions and tokens continue");
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

constexpr Route rows[] = {
    {.request = "POST /api/auth/change-password",
     .name = "changePassword",
     .tag = "Account",
     .summary = "Change the caller's password; other sessions and tokens end",
     .text = "Sets a new password after checking the current one. This session continues. All "
             "others end, and so do the tokens of berth's own client and of apps, session tokens "
             "included, unless end_others is false. Consents to apps stay, and apps have to ask "
             "for new tokens. A mail names what has ended.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::account,
     .body = {"ChangePasswordRequest"},
     .answer = {200, "Message"},
     .errors = {Code::invalid_credentials},
     .event = {SecurityKind::password_changed, "by_password"},
     .served_by = {"berth account password", "/console/account"},
     .run = FreeHandler{change_password}},
    {.request = "POST /api/auth/forgot-password",
     .name = "forgotPassword",
     .tag = "Account",
     .summary =
         "Mail a token for a new password; the answer doesn't tell whether the address is known",
     .text = "Mails a token for reset-password, if the address has an account. The token works "
             "once, within an hour.",
     .guards = {open_to_all(), password_calls},
     .stores = Stores::registration,
     .body = {"EmailRequest"},
     .answer = {200, "Message"},
     .event = {SecurityKind::password_reset_requested, "asked"},
     .served_by = {.page = "/forgot-password"},
     .run = WriteHandler{forgot_password}},
    {.request = "POST /api/auth/reset-password",
     .name = "resetPassword",
     .tag = "Account",
     .summary = "Set a new password with a mailed token; all sessions and tokens end",
     .text =
         "Sets a new password and ends all sessions, all tokens of berth's own client and of apps, "
         "and all other mailed links. The mailed token works once. A mail names what has ended.",
     .guards = {open_to_all(), password_calls},
     .stores = Stores::registration,
     .body = {"ResetPasswordRequest"},
     .answer = {200, "Message"},
     .event = {SecurityKind::password_changed, "by_mail"},
     .served_by = {.page = "/reset-password"},
     .run = FreeHandler{reset_password}},
};

}  // namespace

std::span<const Route> passwords_routes() { return rows; }

}  // namespace berth::api
