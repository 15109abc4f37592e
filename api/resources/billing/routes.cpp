#include "api/resources/billing/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Placeholder deployment_of_internal_in_path = {
    "InternalDeploymentId", "The id of the deployment.", "01936f5e-7c1a-7000-8000-000000000005"};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/billing",
     .name = "deploymentBilling",
     .tag = "Deployments",
     .summary = "Show a deployment's price, until when it is paid, and its charges",
     .text = "Returns the price and the current period of a deployment, when it will be charged "
             "next, and the newest 200 charges. It says when the deployment stops if the balance "
             "stays too low.",
     .guards = {oauth_token({Scope::deploy_manage}), deploy_reads},
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
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&deployment_of_internal_in_path},
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
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&deployment_of_internal_in_path},
     .answer = {200, "DeploymentEnvelope"},
     .errors = {Code::deployment_not_found, Code::deployment_destroyed},
     .served_by = {"berth admin reactivate", "/console/admin"},
     .run = WriteHandler{reactivate_deployment}},
};

}  // namespace

std::span<const Route> billing_routes() { return rows; }

}  // namespace berth::api
