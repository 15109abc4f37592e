#pragma once

#include <optional>
#include <string>

#include "controller/domain/deployments/deployments.h"

namespace berth::deployments {

// Back to what an earlier rollout ran: image (by its digest, where the cluster told it), port,
// variables, health path and registry credentials; tier and custom domain stay as they are. Which
// one: that of the entry `to_log_id` of the log (log_entry_not_found where there is none), else the
// last one that ran before the current one and differs from it. A stopped deployment stays stopped,
// a pending one pending; the current period is charged where it isn't paid (billing.h). Returns the
// row as it is after. Refused with deployment_destroyed, deployment_suspended,
// insufficient_balance, invalid_state where nothing ran before or the entry is of no rollout that
// ran, unsupported_registry where the image's registry isn't allowed any more.
Deployment rollback(db::Tx& tx, const Actor& actor, const std::string& id,
                    const std::optional<std::string>& to_log_id, const Rules& rules,
                    const std::string& data_key);

}  // namespace berth::deployments
