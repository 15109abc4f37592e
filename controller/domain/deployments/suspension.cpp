// Suspending a deployment as an admin, and reactivating it.
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/kernel/audit.h"

namespace berth::deployments {
namespace {

Deployment get_undestroyed(db::Tx& tx, const std::string& id) {
  auto row = find(tx, id);
  if (!row) throw Error(Code::deployment_not_found, "there is no such deployment");
  if (row->status == Status::destroyed)
    throw Error(Code::deployment_destroyed, "the deployment was deleted");
  return std::move(*row);
}

void log(db::Tx& tx, const std::string& id, const char* action, const char* reason) {
  write_log(tx, id,
            {.action = action,
             .status = "succeeded",
             .initiated_by = {},
             .details = nlohmann::json{{"reason", reason}}.dump()});
}

}  // namespace

Deployment suspend(db::Tx& tx, const AdminAction& action, const std::string& id) {
  if (const auto row = get_undestroyed(tx, id); row.suspended_at) return row;
  billing::suspended_by_admin(tx, id);
  tx.execute(
      "UPDATE deployments SET suspended_at = $2, stopped_at = CASE WHEN status = 'stopped' THEN "
      "stopped_at ELSE $2 END, status = 'stopped', generation = generation + 1, phase = '', reason "
      "= 'suspended_by_admin', cause = NULL, message = NULL, health_status = NULL, request_id = "
      "$3, "
      "updated_at = $2 WHERE id = $1",
      id, tx.now(), action.request_id);
  log(tx, id, "suspend", "suspended_by_admin");
  audit::record(tx, action.admin, "deployment.suspend", id);
  tx.notify(db::Topic::deployment, id);
  return *find(tx, id);
}

Deployment reactivate(db::Tx& tx, const AdminAction& action, const std::string& id) {
  if (const auto row = get_undestroyed(tx, id); !row.suspended_at) return row;
  const bool starts = billing::released_by_admin(tx, id);
  tx.execute(
      "UPDATE deployments SET suspended_at = NULL, status = $2, stopped_at = CASE WHEN $2 = "
      "'stopped' THEN stopped_at END, generation = generation + 1, phase = '', reason = NULL, "
      "message = CASE WHEN billing_status = 'suspended' THEN $5 END, request_id = $3, updated_at = "
      "$4 WHERE id = $1",
      id, to_string(starts ? Status::deploying : Status::stopped), action.request_id, tx.now(),
      billing::points_missing);
  log(tx, id, "reactivate", "reactivated_by_admin");
  audit::record(tx, action.admin, "deployment.reactivate", id);
  tx.notify(db::Topic::deployment, id);
  return *find(tx, id);
}

}  // namespace berth::deployments
