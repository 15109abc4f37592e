// Custom domains.
#include "api/resources/custom_domains/handlers.h"

#include "api/gate/encode.h"
#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::api {
namespace {

using deployments::Deployment;

}  // namespace

Reply deployment_domain(db::Tx& tx, const Call& call, const Services& services) {
  const Deployment row = deployments::get_owned(tx, call.caller->app_id, call.id());
  const auto claim = custom_domains::newest(tx, row.id);
  if (!claim) throw Error(Code::domain_not_found, "the deployment has no custom domain");
  json records = json::array();
  for (const auto& record : custom_domains::records(*claim, services.deployment_rules.apps_domain))
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

}  // namespace berth::api
