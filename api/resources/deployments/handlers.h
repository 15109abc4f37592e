#pragma once

#include "api/gate/call.h"

// Deployments: their creation, changes, status, log, usage, rollback and deletion.
namespace berth::api {

Reply create_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply dry_run_deployments(db::Tx& tx, const Call& call, const Services& services);
Reply list_deployments(db::Tx& tx, const Call& call, const Services& services);
Reply get_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply list_variables(db::Tx& tx, const Call& call, const Services& services);
Reply deployment_status(db::Tx& tx, const Call& call, const Services& services);
Reply deployment_logs(db::Tx& tx, const Call& call, const Services& services);
Reply change_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply stop_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply restart_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply rollback_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply deployment_metrics(const Call& call, const Services& services);
Reply deployment_metrics_history(const Call& call, const Services& services);
Reply delete_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply sandbox_status(db::Tx& tx, const Call& call, const Services& services);
Reply list_orphans(const Call& call, const Services& services);

}  // namespace berth::api
