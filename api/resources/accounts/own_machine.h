#pragma once

#include <optional>
#include <string>

#include "api/gate/services.h"
#include "controller/domain/apps/apps.h"
#include "controller/transport/http.h"

// What the key first-account-admin does: whoever tries berth on their own machine is its admin, and
// needn't approve their own requests.
namespace berth::api {

// Whether a request comes from this machine: from a loopback address, and to a name that is always
// this machine. The second keeps out pages of other sites whose name was made to lead here.
// `address` is that of client_address().
bool comes_from_this_machine(const Request& request, const std::string& address);

// Whether the user is the account that the key has made the admin.
bool is_own_admin(const accounts::User& user, const Services& services);

// Approves the request, if there is one, it is pending, and `owner` is that account. Answers are
// made before, so that they are those of every other berth.
void approve_own(db::Tx& tx, const std::optional<apps::ScopeRequest>& request,
                 const accounts::User& owner, const Services& services);

}  // namespace berth::api
