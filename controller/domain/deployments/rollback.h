#pragma once

#include <optional>
#include <string>

#include "controller/domain/deployments/deployments.h"

namespace berth::deployments {

// Whose rollback it is.
enum class RollbackBy {
  owner,
  // Of an image that was rolled out by itself and failed (pushes.h). Nothing is asked for what goes
  // on with as many containers as before: an app that is short of points would be left with the
  // image that failed.
  berth
};

// Returns a deployment to what an earlier rollout ran: image (by its digest, if that is known),
// port, its own variables, health path and registry credentials. Tier, custom domain and the app's
// variables (app_variables.h) stay as they are.
// `to_log_id` names a log entry of the rollout to return to; without it, the last rollout that ran
// before the current one and differs from it is used, or the last one if none differs. A stopped
// deployment stays stopped, and a pending one pending; the current period is charged if it isn't
// paid (billing.h). Returns the deployment as it is afterwards. Throws log_entry_not_found,
// deployment_destroyed, deployment_suspended, insufficient_balance; invalid_state if nothing ran
// before, or the entry doesn't belong to a rollout that ran; and unsupported_registry if the
// image's registry is no longer allowed.
Deployment rollback(db::Tx& tx, const Actor& actor, const std::string& id,
                    const std::optional<std::string>& to_log_id, const Rules& rules,
                    const std::string& data_key, RollbackBy by = RollbackBy::owner);

}  // namespace berth::deployments
