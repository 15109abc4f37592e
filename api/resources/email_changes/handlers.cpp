// Changing the address of an account.
#include "api/resources/email_changes/handlers.h"

#include "api/gate/encode.h"
#include "api/resources/accounts/sign_in.h"
#include "api/resources/email_changes/email_change.h"
#include "controller/base/shares.h"
#include "controller/domain/accounts/email_changes.h"
#include "controller/domain/lifecycle/passwords.h"

namespace berth::api {

void ask_for_email_change(const accounts::User& user, const EmailChange& change,
                          const Services& services) {
  if (user.totp_enabled && !change.totp_code)
    throw Error(Code::totp_required, "the account requires a totp_code");
  accounts::check_email(change.new_email, "new_email");
  require_proof(
      user, change.session_id,
      {.password = change.password, .totp_code = change.totp_code, .address = change.address},
      services);
  services.db.write([&](db::Tx& tx) {
    const auto current = accounts::find(tx, user.id);
    if (!current) throw Error(Code::user_not_found, "there is no such user");
    accounts::email_changes::ask(tx, *current, change.new_email, services.keys, services.base_url);
  });
}

Reply ask_for_email_change(const Call& call, const Services& services) {
  ask_for_email_change(*call.user,
                       {.new_email = call.body.at("new_email"),
                        .password = call.body.at("password"),
                        .totp_code = text_or_nothing(call.body, "totp_code"),
                        .session_id = call.session_id,
                        .address = call.address},
                       services);
  return message_reply(
      "a mail was sent to both addresses; the account's address changes once the new one has "
      "confirmed it");
}

Reply confirm_email_change(db::Tx& tx, const Call& call, const Services& services) {
  ClaimantOfThread::set_account(accounts::email_changes::confirm(
                                    tx, call.body.at("token"), services.signup_bonus, services.keys)
                                    .id);
  return message_reply("the address of the account was changed");
}

Reply stop_email_change(db::Tx& tx, const Call& call, const Services&) {
  const auto stopped = accounts::stop_email_change(tx, call.body.at("token"));
  ClaimantOfThread::set_account(stopped.user_id);
  return message_reply(stopped.was_confirmed
                           ? "the account has its old address again, and all sessions have "
                             "ended; a mail will be sent with which to choose a new password"
                           : "the change of the address was stopped");
}

}  // namespace berth::api
