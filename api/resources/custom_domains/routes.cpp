#include "api/resources/routes.h"

#include "api/resources/custom_domains/handlers.h"

namespace berth::api {

std::vector<Route> custom_domains_routes() {
  const Access deploy = oauth_token({Scope::deploy_manage});
  return {
      {.method = "GET",
       .path = "/api/deploy/apps/{id}/domain",
       .name = "deploymentDomain",
       .tag = "Deployments",
       .summary = "Show the custom domain's state and the DNS records that it needs",
       .access = deploy,
       .rate = deploy_reads,
       .answer = {200, "CustomDomain"},
       .errors = {Code::deployment_not_found, Code::forbidden, Code::domain_not_found},
       .run = ReadHandler{deployment_domain}},
  };
}

}  // namespace berth::api
