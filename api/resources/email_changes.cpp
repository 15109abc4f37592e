// Handlers of changing an account's address.
#include "api/resources/email_changes.h"

#include "api/gate/encode.h"
#include "api/resources/accounts/sign_in.h"
#include "api/resources/shared.h"
#include "controller/base/shares.h"
#include "controller/domain/accounts/email_changes.h"
#include "controller/domain/lifecycle/passwords.h"

namespace berth::api {

void ask_for_email_change(const accounts::User& user, const EmailChange& change,
                          const Services& services) {
  if (user.totp_enabled && !change.totp_code)
    throw Error(Code::totp_required, "the account requires a totp_code");
  accounts::check_email(change.new_email, "new_email");
  require_factor_proof(
      user, change.session_id,
      {.password = change.password, .totp_code = change.totp_code, .address = change.address},
      services);
  services.db.write([&](db::Tx& tx) {
    accounts::require_session(tx, change.session_id);
    const auto current = accounts::find(tx, user.id);
    if (!current) throw Error(Code::user_not_found, "there is no such user");
    accounts::email_changes::ask(tx, *current, change.new_email, services.keys, services.base_url);
  });
}

namespace {

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
  ClaimantOfThread::set_account(accounts::email_changes::confirm(tx, call.body.at("token"),
                                                                 services.rules.signup_bonus,
                                                                 services.keys)
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

constexpr Route rows[] = {
    {.request = "POST /api/auth/email-change",
     .name = "changeEmail",
     .tag = "Account",
     .summary = "Change the email address of the caller's account",
     .text =
         "Checks the password, mails a token for confirm to the new address, and tells the "
         "current one, with a link that stops the change. Nothing changes until the new "
         "address has confirmed it. With passkeys as the only second factor, one has to prove it "
         "within the ten minutes before.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::registration,
     .body = {"EmailChangeRequest"},
     .answer = {200, "Message"},
     .errors = {Code::invalid_credentials, Code::totp_required, Code::invalid_totp,
                Code::insufficient_user_authentication},
     .event = {SecurityKind::account_changed, "address_asked"},
     .served_by = {"berth account email", "/console/account"},
     .run = FreeHandler{ask_for_email_change}},
    {.request = "POST /api/auth/email-change/confirm",
     .name = "confirmEmailChange",
     .tag = "Account",
     .summary = "Confirm the new address with the token that was mailed to it",
     .text = "Gives the account the address that the token was mailed to, which counts as "
             "verified. The token works once, within 24 hours. Mailed links to the old address "
             "stop working; sessions continue.",
     .guards = {open_to_all(), account_writes},
     .stores = Stores::registration,
     .body = {"TokenRequest"},
     .answer = {200, "Message"},
     .event = {SecurityKind::account_changed, "address_changed"},
     .served_by = {"berth account confirm-email", "/email-change"},
     .run = WriteHandler{confirm_email_change}},
    {.request = "POST /api/auth/email-change/stop",
     .name = "stopEmailChange",
     .tag = "Account",
     .summary = "Stop or undo the change with the token that was mailed to the old address",
     .text = "Withdraws the change, or undoes it for 7 days after it was asked for: the account "
             "gets its old address back, all sessions and connections to apps end, and a mail with "
             "which to choose a new password is sent.",
     .guards = {open_to_all(), account_writes},
     .stores = Stores::registration,
     .body = {"TokenRequest"},
     .answer = {200, "Message"},
     .event = {SecurityKind::account_changed, "address_kept"},
     .served_by = {.page = "/email-change/stop"},
     .run = WriteHandler{stop_email_change}},
};

}  // namespace

std::span<const Route> email_changes_routes() { return rows; }

}  // namespace berth::api
