#include "api/gate/route_parts.h"
#include "api/resources/handlers.h"

// The rows about what runs: rolling back to an earlier revision, and usage.
namespace berth::api {

std::vector<Route> rollout_routes() {
  const Access deploy = oauth_token({Scope::deploy_manage});
  return {
      {.method = "POST",
       .path = "/api/deploy/apps/{id}/rollback",
       .name = "rollbackDeployment",
       .tag = "Deployments",
       .summary = "Return to what an earlier rollout ran, without dropping requests",
       .access = deploy,
       .rate = per_minute(10),
       .body_kind = Body::optional_json,
       .body = "RollbackRequest",
       .answer = {200, "DeploymentEnvelope"},
       .errors = {Code::deployment_not_found, Code::forbidden, Code::deployment_destroyed,
                  Code::deployment_suspended, Code::log_entry_not_found, Code::invalid_state,
                  Code::unsupported_registry, Code::insufficient_balance},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{rollback_deployment}},
      {.method = "GET",
       .path = "/api/deploy/apps/{id}/metrics",
       .name = "deploymentMetrics",
       .tag = "Deployments",
       .summary = "Show what a deployment uses at present",
       .access = deploy,
       .rate = per_minute(30),
       .answer = {200, "DeploymentMetrics"},
       .errors = {Code::deployment_not_found, Code::forbidden},
       .run = FreeHandler{deployment_metrics}},
  };
}

}  // namespace berth::api
