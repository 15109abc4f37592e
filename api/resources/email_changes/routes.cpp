#include "api/resources/routes.h"

#include "api/resources/email_changes/handlers.h"

namespace berth::api {

std::vector<Route> email_changes_routes() {
  return {
      {.method = "POST",
       .path = "/api/auth/email-change",
       .name = "changeEmail",
       .tag = "Account",
       .summary = "Ask for another email address of the caller's account",
       .access = session(),
       .rate = password_calls,
       .stores = Stores::registration,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "EmailChangeRequest",
       .answer = {200, "Message"},
       .errors = {Code::invalid_credentials, Code::totp_required, Code::invalid_totp},
       .run = FreeHandler{ask_for_email_change}},
      {.method = "POST",
       .path = "/api/auth/email-change/confirm",
       .name = "confirmEmailChange",
       .tag = "Account",
       .summary = "Confirm the new address with the token that was mailed to it",
       .rate = account_writes,
       .stores = Stores::registration,
       .body_kind = Body::only_json,
       .body = "TokenRequest",
       .answer = {200, "Message"},
       .run = WriteHandler{confirm_email_change}},
      {.method = "POST",
       .path = "/api/auth/email-change/stop",
       .name = "stopEmailChange",
       .tag = "Account",
       .summary = "Stop or undo the change with the token that was mailed to the old address",
       .rate = account_writes,
       .stores = Stores::registration,
       .body_kind = Body::only_json,
       .body = "TokenRequest",
       .answer = {200, "Message"},
       .run = WriteHandler{stop_email_change}},
  };
}

}  // namespace berth::api
