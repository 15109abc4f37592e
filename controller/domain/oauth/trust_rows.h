#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/oauth/trusts.h"

// How trusts are stored. Private to this module.
namespace berth::oauth {

Trust trust_of(const db::Query& row);
// The column `deployments` of a trust and of its families: NULL for all of the app.
std::optional<std::string> stored_deployments(const std::vector<std::string>& ids);

}  // namespace berth::oauth
