#include "api/resources/routes.h"

#include "api/resources/passwords/handlers.h"

namespace berth::api {

std::vector<Route> passwords_routes() {
  return {
      {.method = "POST",
       .path = "/api/auth/change-password",
       .name = "changePassword",
       .tag = "Account",
       .summary = "Change the caller's password; other sessions and tokens end",
       .access = session(),
       .rate = password_calls,
       .stores = Stores::account,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "ChangePasswordRequest",
       .answer = {200, "Message"},
       .errors = {Code::invalid_credentials},
       .run = FreeHandler{change_password}},
      {.method = "POST",
       .path = "/api/auth/forgot-password",
       .name = "forgotPassword",
       .tag = "Account",
       .summary =
           "Mail a token for a new password; the answer doesn't tell whether the address is known",
       .rate = password_calls,
       .stores = Stores::registration,
       .body_kind = Body::only_json,
       .body = "EmailRequest",
       .answer = {200, "Message"},
       .run = WriteHandler{forgot_password}},
      {.method = "POST",
       .path = "/api/auth/reset-password",
       .name = "resetPassword",
       .tag = "Account",
       .summary = "Set a new password with a mailed token; all sessions and tokens end",
       .rate = password_calls,
       .stores = Stores::registration,
       .body_kind = Body::only_json,
       .body = "ResetPasswordRequest",
       .answer = {200, "Message"},
       .run = FreeHandler{reset_password}},
  };
}

}  // namespace berth::api
