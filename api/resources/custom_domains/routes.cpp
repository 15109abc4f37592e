#include "api/resources/custom_domains/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Access deploy = oauth_token({Scope::deploy_manage});

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/domain",
     .name = "deploymentDomain",
     .tag = "Deployments",
     .summary = "Show the custom domain's state and the DNS records that it needs",
     .text = "Returns the state of the claimed domain, which DNS records it needs, and what was "
             "found wrong at the last check. berth checks again by itself.",
     .guards = {deploy, deploy_reads},
     .in_path = {&deployment_in_path},
     .answer = {200, "CustomDomain"},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::domain_not_found},
     .served_by = {"berth deploy domain", "/console"},
     .run = ReadHandler{deployment_domain}},
};

}  // namespace

std::span<const Route> custom_domains_routes() { return rows; }

}  // namespace berth::api
