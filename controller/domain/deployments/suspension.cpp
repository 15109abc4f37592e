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

void log(db::Tx& tx, const std::string& id, LogAction action, const char* reason) {
  write_log(tx, id,
            {.action = action,
             .status = LogStatus::succeeded,
             .initiated_by = {},
             .details = nlohmann::json{{"reason", reason}}.dump()});
}

}  // namespace

Deployment suspend(db::Tx& tx, const AdminAction& action, const std::string& id) {
  const Deployment row = get_undestroyed(tx, id);
  if (row.suspended_at) return row;
  billing::suspended_by_admin(tx, id);
  tx.require_change(R"(
      UPDATE deployments
      SET suspended_at = $2
      WHERE id = $1 AND suspended_at IS NULL)",
                    id, tx.now());
  begin_generation(tx, id,
                   {.status = Status::stopped,
                    .request_id = action.request_id,
                    .reason = Reason::suspended_by_admin});
  log(tx, id, LogAction::suspend, "suspended_by_admin");
  audit::record(tx, action.admin, "deployment.suspend", id, "{}", row.app_id);
  return *find(tx, id);
}

Deployment reactivate(db::Tx& tx, const AdminAction& action, const std::string& id) {
  const Deployment row = get_undestroyed(tx, id);
  if (!row.suspended_at) return row;
  const bool starts = billing::released_by_admin(tx, id);
  tx.require_change(R"(
      UPDATE deployments
      SET suspended_at = NULL
      WHERE id = $1 AND suspended_at IS NOT NULL)",
                    id);
  NewGeneration next = {.status = starts ? Status::deploying : Status::stopped,
                        .request_id = action.request_id};
  next.message = billing::why_suspended(tx, id);
  begin_generation(tx, id, next);
  log(tx, id, LogAction::reactivate, "reactivated_by_admin");
  audit::record(tx, action.admin, "deployment.reactivate", id, "{}", row.app_id);
  return *find(tx, id);
}

}  // namespace berth::deployments
