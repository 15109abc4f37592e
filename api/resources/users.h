#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"

namespace berth::api {

// The part of a user that others may see: the specification's UserProfile without its envelope.
// `viewer_id` is the user who looks, for the state of their friendship; empty if there is none.
nlohmann::json encode_profile(db::Tx& tx, const accounts::User& user,
                              const std::optional<std::string>& viewer_id);

}  // namespace berth::api
