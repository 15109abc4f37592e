#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/gate/authenticate.h"
#include "api/gate/route.h"
#include "controller/domain/accounts/admin_roles.h"
#include "controller/domain/accounts/internal_secrets.h"

// Who calls an operation below /api/internal/: a machine with a secret, or an admin in person.
namespace berth::api {

struct AdminCaller {
  enum class Way { configured_secret, made_secret, console, personal_token };
  Way way = Way::configured_secret;
  accounts::AdminRole role = accounts::AdminRole::admin;
  std::string actor;                  // the name in the audit log
  std::string token_id = {};          // of a personal token, or of a secret that an admin made
  std::optional<Bearer> person = {};  // in the console, and with a personal token
};

// The caller with a secret that an admin made, and the one in the console or with a personal token.
AdminCaller by_made_secret(const internal_secrets::Secret& secret, const Request& request);
AdminCaller by_person(Bearer person, AdminCaller::Way way);

// Throws forbidden, with a sentence that names the roles that may, unless the caller may call a
// route with this access.
void require_admin(const Access& access, const AdminCaller& caller);

// For an answer that goes on after the gate has admitted the caller: returns what looks at their
// session, token or secret and at their role again, and throws an Error once they would be refused.
// A secret of the configuration doesn't end before the process does. Copies what it needs from the
// call.
std::function<void(db::Tx&)> admin_check(const Call& call, const Services& services);

}  // namespace berth::api
