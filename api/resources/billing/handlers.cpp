// The costs of deployments, and their suspension by administrators.
#include "api/resources/billing/handlers.h"

#include "api/gate/encode.h"
#include "api/resources/deployments/encode.h"
#include "controller/domain/deployments/billing/billing.h"

namespace berth::api {
namespace {

json encode(const billing::Entry& entry) {
  return {{"kind", entry.kind},
          {"tier", entry.tier},
          {"from_tier", or_null(entry.from_tier)},
          {"period_start", to_iso8601(entry.period_start)},
          {"amount", entry.amount},
          {"transaction_id", or_null(entry.transaction_id)},
          {"at", to_iso8601(entry.at)}};
}

deployments::AdminAction action_of(const Call& call) {
  return {.admin = call.admin, .request_id = call.request_id};
}

}  // namespace

Reply deployment_billing(db::Tx& tx, const Call& call, const Services&) {
  const auto row = deployments::get_owned(tx, call.caller->app_id, call.id());
  const billing::View view = billing::view(tx, row.id);
  json history = json::array();
  for (const billing::Entry& entry : view.history) history.push_back(encode(entry));
  return {.body = {{"deployment_id", row.id},
                   {"billing_status", view.status},
                   {"tier", view.tier},
                   {"period",
                    {{"start", to_iso8601(view.period.start)},
                     {"end", to_iso8601(view.period.end)},
                     {"paid", view.is_paid}}},
                   {"next_renewal", or_null(view.next_renewal)},
                   {"amount", view.price},
                   {"balance", view.balance},
                   {"warned_at", or_null(view.warned_at)},
                   {"stops_at", or_null(view.stops_at)},
                   {"history", std::move(history)}}};
}

Reply suspend_deployment(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = encode_both(deployments::suspend(tx, action_of(call), call.id("deployment_id")),
                              services)};
}

Reply reactivate_deployment(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = encode_both(
              deployments::reactivate(tx, action_of(call), call.id("deployment_id")), services)};
}

}  // namespace berth::api
