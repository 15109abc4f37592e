// Handlers of deployments' costs and of their suspension by administrators.
#include "controller/domain/deployments/billing/billing.h"

#include "api/gate/encode.h"
#include "api/resources/deployments.h"
#include "api/resources/refunds/giving_back.h"
#include "api/resources/shared.h"
#include "controller/domain/ledger/ledger.h"

namespace berth::api {
namespace {

json encode(const billing::Entry& entry) {
  return {{"kind", entry.kind},
          {"tier", entry.tier},
          {"from_tier", or_null(entry.from_tier)},
          {"containers", entry.containers},
          {"from_containers", or_null(entry.from_containers)},
          {"period_start", to_iso8601(entry.period_start)},
          {"amount", entry.amount},
          {"transaction_id", or_null(entry.transaction_id)},
          {"at", to_iso8601(entry.at)}};
}

}  // namespace

json encode_billing(db::Tx& tx, const deployments::Deployment& row) {
  const billing::View view = billing::view(tx, row.id);
  json history = json::array();
  for (const billing::Entry& entry : view.history) history.push_back(encode(entry));
  return {{"deployment_id", row.id},
          {"billing_status", view.status},
          {"tier", view.tier},
          {"containers", view.containers},
          {"period",
           {{"start", to_iso8601(view.period.start)},
            {"end", to_iso8601(view.period.end)},
            {"paid", view.is_paid}}},
          {"next_renewal", or_null(view.next_renewal)},
          {"amount", view.price},
          {"balance", view.balance},
          {"held", ledger::held(tx, ledger::app_account(row.app_id))},
          {"warned_at", or_null(view.warned_at)},
          {"stops_at", or_null(view.stops_at)},
          {"history", std::move(history)}};
}

namespace {

deployments::AdminAction action_of(const Call& call) {
  return {.admin = call.admin, .request_id = call.request_id};
}

Reply deployment_billing(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_billing(tx, deployments::get_owned(tx, call.caller->app_id, call.id()))};
}

Reply suspend_deployment(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = encode_both(deployments::suspend(tx, action_of(call), call.id("deployment_id")),
                              services)};
}

Reply refund_deployment(db::Tx& tx, const Call& call, const Services& services) {
  return {.status = 201,
          .body = order(tx, call, services,
                        {.kind = proposals::Kind::deployment_refund,
                         .subject_id = call.id("deployment_id"),
                         .amount = call.body.at("amount"),
                         .reason = call.body.at("reason")})};
}

Reply reactivate_deployment(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = encode_both(
              deployments::reactivate(tx, action_of(call), call.id("deployment_id")), services)};
}

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/billing",
     .name = "deploymentBilling",
     .tag = "Deployments",
     .summary = "Show a deployment's price, until when it is paid, and its charges",
     .text = "Returns the price and the current period of a deployment, when it will be charged "
             "next, and the newest 200 charges. It says when the deployment stops if the balance "
             "stays too low.",
     .guards = {to_viewers(reads_deployments), deploy_reads},
     .in_path = {&deployment_in_path},
     .answer = {200, "DeploymentBilling"},
     .errors = {Code::deployment_not_found, Code::forbidden},
     .served_by = {"berth deploy billing", "/console"},
     .run = ReadHandler{deployment_billing}},
    {.request = "POST /api/internal/deploy/apps/{deployment_id}/suspend",
     .name = "suspendDeployment",
     .tag = "Internal",
     .summary = "Suspend a deployment; its owner can't start it until it is reactivated",
     .text = "Stops the deployment with the reason suspended_by_admin. Its owner can't start or "
             "change it until it is reactivated. It isn't renewed meanwhile.",
     .guards = admins_and_support,
     .stores = Stores::administration,
     .in_path = {&internal_deployment_in_path},
     .answer = {200, "DeploymentEnvelope"},
     .errors = {Code::deployment_not_found, Code::deployment_destroyed},
     .served_by = {"berth admin suspend", "/console/admin"},
     .run = WriteHandler{suspend_deployment}},
    {.request = "POST /api/internal/deploy/apps/{deployment_id}/reactivate",
     .name = "reactivateDeployment",
     .tag = "Internal",
     .summary = "Reactivate a suspended deployment; it starts again if it ran before",
     .text = "Ends the suspension. A deployment that ran before starts again, if its current "
             "period is paid.",
     .guards = admins_and_support,
     .stores = Stores::administration,
     .in_path = {&internal_deployment_in_path},
     .answer = {200, "DeploymentEnvelope"},
     .errors = {Code::deployment_not_found, Code::deployment_destroyed},
     .served_by = {"berth admin reactivate", "/console/admin"},
     .run = WriteHandler{reactivate_deployment}},
    {.request = "POST /api/internal/deploy/apps/{deployment_id}/refund",
     .name = "refundDeployment",
     .tag = "Internal",
     .summary = "Give an app back points that one of its deployments was charged",
     .text = "Moves points from the treasury to the app, at most as many as the deployment was "
             "charged and not given back. The reason is kept in the audit log. Above the points of "
             "a day that one admin may give back, it becomes a proposal, which another admin "
             "confirms.",
     .guards = every_admin,
     .stores = Stores::administration,
     .in_path = {&internal_deployment_in_path},
     .body = {"RefundRequest"},
     .answer = {201, "RefundResult"},
     .errors = {Code::deployment_not_found, Code::unavailable},
     .idempotency = Idempotency::kept,
     .served_by = {"berth admin refund", "/console/admin"},
     .run = WriteHandler{refund_deployment}},
};

}  // namespace

std::span<const Route> billing_routes() { return rows; }

}  // namespace berth::api
