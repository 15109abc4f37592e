#include "controller/domain/deployments/exec_sessions.h"

#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/kernel/audit.h"

namespace berth::exec {
namespace {

using nlohmann::json;

constexpr auto replace = json::error_handler_t::replace;

json what_was_done(const Recorded& session) {
  json details = {{"instance", session.instance}};
  if (session.kind == SessionKind::exec)
    details["command"] = session.command.substr(0, max_recorded_command);
  else
    details["port"] = session.port;
  return details;
}

json details_of(const Recorded& session) {
  json details = what_was_done(session);
  details["session_id"] = session.session_id;
  details["app_id"] = session.app_id;
  return details;
}

// `user_id` is whose entry it is, if anybody's.
void record(db::Tx& tx, const Recorded& session, const char* moment, const json& details,
            const std::string& user_id) {
  // The actor is as for an admin who uses the console. Of the end there is no request that would
  // say whose session it was.
  audit::record(tx, "user:" + session.user_id, std::string(to_string(session.kind)) + "." + moment,
                session.deployment_id, details.dump(-1, ' ', false, replace), session.app_id,
                user_id);
}

}  // namespace

bool exec_allowed(db::Tx& tx, const deployments::Deployment& deployment) {
  auto rows =
      tx.query(R"(SELECT exec_allowed FROM deploy_tiers WHERE id = $1)", deployment.tier_id);
  return rows.next() && rows.flag("exec_allowed");
}

void require_sessions(db::Tx& tx, const deployments::Deployment& deployment) {
  if (deployment.status == deployments::Status::destroyed)
    throw Error(Code::invalid_state, "the deployment was deleted together with its containers");
  if (!exec_allowed(tx, deployment))
    throw Error(Code::exec_not_allowed,
                "the tier " + deployment.tier_slug +
                    " allows no commands in containers and no connections to their ports; an admin "
                    "can allow them");
  if (deployment.suspended_at)
    throw Error(Code::deployment_suspended, "an admin has suspended this deployment");
  if (deployment.status == deployments::Status::stopped)
    throw Error(Code::invalid_state,
                "the deployment is stopped, so that no container runs; restart it first");
}

void record_begin(db::Tx& tx, const Recorded& session) {
  record(tx, session, "begin", details_of(session), session.user_id);
  // Connections to ports are many, and would push what was done with the deployment out of its log.
  if (session.kind != SessionKind::exec) return;
  json details = what_was_done(session);
  details["request_id"] = session.request_id;
  deployments::write_log(tx, session.deployment_id,
                         {.action = deployments::LogAction::exec,
                          .status = deployments::LogStatus::info,
                          .initiated_by = session.user_id,
                          .details = details.dump(-1, ' ', false, replace)});
}

void record_end(db::Tx& tx, const Recorded& session, const Ended& end) {
  json details = details_of(session);
  details["took_ms"] = end.took.count();
  if (end.exit_code) details["exit_code"] = *end.exit_code;
  if (!end.why.empty()) details["why"] = end.why;
  // Of an account that was deleted meanwhile, the log gets nothing that would have to be erased.
  if (accounts::find(tx, session.user_id))
    record(tx, session, "end", details, session.user_id);
  else
    record(tx, session, "end", json::object(), "");
}

}  // namespace berth::exec
