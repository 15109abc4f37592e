#pragma once

#include <optional>
#include <string>

#include "controller/domain/deployments/deployments.h"

namespace berth::deployments {

// What an admin looks for. A member that isn't set leaves nothing out.
struct AdminFilter {
  // The beginning of a name or of a custom domain, or the id of a deployment, or the username of an
  // owner. Of each of the first two and of the last, the first 1,000 are found.
  std::optional<std::string> search = {};
  std::optional<Status> status = {};
  std::optional<std::string> tier = {};  // the slug
  std::optional<billing::Status> billing = {};
  std::optional<std::string> app_id = {};
  std::optional<std::string> owner_id = {};
};

// Returns the deployments of all apps that aren't destroyed and fit, newest first. With a filter
// for the tier or the billing alone, it may go through all deployments, so callers with many of
// them read on a heavy reader (db::Readers).
Page<Deployment> list_for_admin(db::Tx& tx, const AdminFilter& filter, const PageRequest& page);

}  // namespace berth::deployments
