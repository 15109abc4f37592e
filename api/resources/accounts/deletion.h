#pragma once

#include <string>

#include "api/gate/services.h"
#include "controller/domain/accounts/accounts.h"

namespace berth::api {

// Deletes the user's own account after checking their password, and confirms it by mail. For the
// API and the hosted pages. Throws invalid_credentials; rate_limited; and invalid_state while an
// app of the user has a deployment that isn't destroyed.
void delete_account(const accounts::User& user, const std::string& password,
                    const std::string& address, const Services& services);

}  // namespace berth::api
