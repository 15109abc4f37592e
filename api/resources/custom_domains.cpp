// The custom domain of a deployment.
#include "controller/domain/deployments/custom_domains/custom_domains.h"

#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::api {
namespace {

using deployments::Deployment;

Reply deployment_domain(db::Tx& tx, const Call& call, const Services& services) {
  const Deployment row = deployments::get_owned(tx, call.caller->app_id, call.id());
  const auto claim = custom_domains::newest(tx, row.id);
  if (!claim) throw Error(Code::domain_not_found, "the deployment has no custom domain");
  json records = json::array();
  for (const auto& record : custom_domains::records(*claim, services.rules.deployments.apps_domain))
    records.push_back({{"type", record.type}, {"name", record.name}, {"value", record.value}});
  return {.body = {{"domain", claim->domain},
                   {"state", claim->state},
                   {"reason", or_null(claim->reason)},
                   {"message", or_null(claim->message)},
                   {"records", std::move(records)},
                   {"txt_reason", or_null(claim->txt_reason)},
                   {"last_checked_at", or_null(claim->checked_at)},
                   {"expires_at", or_null(claim->expires_at)}}};
}

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/domain",
     .name = "deploymentDomain",
     .tag = "Deployments",
     .summary = "Show the custom domain's state and the DNS records that it needs",
     .text = "Returns the state of the claimed domain, which DNS records it needs, and what was "
             "found wrong at the last check. berth checks again by itself.",
     .guards = {reads_deployments, deploy_reads},
     .in_path = {&deployment_in_path},
     .answer = {200, "CustomDomain"},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::domain_not_found},
     .served_by = {"berth deploy domain", "/console"},
     .run = ReadHandler{deployment_domain}},
};

}  // namespace

std::span<const Route> custom_domains_routes() { return rows; }

}  // namespace berth::api
