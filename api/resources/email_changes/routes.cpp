#include "api/resources/email_changes/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Route rows[] = {
    {.request = "POST /api/auth/email-change",
     .name = "changeEmail",
     .tag = "Account",
     .summary = "Ask for another email address of the caller's account",
     .text = "Checks the password, mails a token for confirm to the new address, and tells the "
             "present one, with a link that stops the change. Nothing changes until the new "
             "address has confirmed it.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::registration,
     .body = {"EmailChangeRequest"},
     .answer = {200, "Message"},
     .errors = {Code::invalid_credentials, Code::totp_required, Code::invalid_totp},
     .event = {SecurityKind::account_changed, "address_asked"},
     .served_by = {"berth account email", "/console/account"},
     .run = FreeHandler{ask_for_email_change}},
    {.request = "POST /api/auth/email-change/confirm",
     .name = "confirmEmailChange",
     .tag = "Account",
     .summary = "Confirm the new address with the token that was mailed to it",
     .text = "Gives the account the address that the token was mailed to, which counts as "
             "verified. The token works once, within 24 hours. Mailed links to the old address "
             "stop working; sessions go on.",
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
