#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"

namespace berth::deployments {

// Returns the deployments of all apps of a user, suspended apps included, like list() does for one
// app.
Page<Deployment> list_of_owner(db::Tx& tx, const std::string& owner_id, const PageRequest& page,
                               const std::optional<Label>& label = {});
// Returns those of all apps that a user owns or is a member of. For each app, those that they may
// use.
Page<Deployment> list_of_member(db::Tx& tx, const std::string& user_id, const PageRequest& page,
                                const std::optional<Label>& label = {});
// Returns those of an app that are among `ids`, like list().
Page<Deployment> list_of_app(db::Tx& tx, const std::string& app_id,
                             const std::vector<std::string>& ids, const PageRequest& page,
                             const std::optional<Label>& label = {});

}  // namespace berth::deployments
