#include "api/resources/routes.h"

#include "api/resources/billing/handlers.h"

namespace berth::api {

std::vector<Route> billing_routes() {
  const auto admins = [](std::string_view path, std::string_view name, std::string_view summary,
                         Write run) {
    return Route{.method = "POST",
                 .path = path,
                 .name = name,
                 .tag = "Internal",
                 .summary = summary,
                 .access = internal(),
                 .rate = internal_calls,
                 .stores = Stores::administration,
                 .shape = Shape::nested_but_access,
                 .answer = {200, "DeploymentEnvelope"},
                 .errors = {Code::deployment_not_found, Code::deployment_destroyed},
                 .run = WriteHandler{run}};
  };
  return {
      {.method = "GET",
       .path = "/api/deploy/apps/{id}/billing",
       .name = "deploymentBilling",
       .tag = "Deployments",
       .summary = "Show a deployment's price, until when it is paid, and its charges",
       .access = oauth_token({Scope::deploy_manage}),
       .rate = deploy_reads,
       .answer = {200, "DeploymentBilling"},
       .errors = {Code::deployment_not_found, Code::forbidden},
       .run = ReadHandler{deployment_billing}},
      admins("/api/internal/deploy/apps/{deployment_id}/suspend", "suspendDeployment",
             "Suspend a deployment; its owner can't start it until it is reactivated",
             suspend_deployment),
      admins("/api/internal/deploy/apps/{deployment_id}/reactivate", "reactivateDeployment",
             "Reactivate a suspended deployment; it starts again if it ran before",
             reactivate_deployment),
  };
}

}  // namespace berth::api
