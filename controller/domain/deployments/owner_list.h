#pragma once

#include <optional>
#include <string>

#include "controller/domain/deployments/deployments.h"

namespace berth::deployments {

// Returns the deployments of all apps of a user, suspended apps included, like list() does for one
// app.
Page<Deployment> list_of_owner(db::Tx& tx, const std::string& owner_id, const PageRequest& page,
                               const std::optional<Label>& label = {});

}  // namespace berth::deployments
