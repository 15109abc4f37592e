// The deployments of all apps, as admins find and look at them.
#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/deployments.h"
#include "api/resources/internal.h"
#include "api/resources/shared.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/admin_list.h"
#include "controller/domain/deployments/billing/billing.h"

namespace berth::api {

using deployments::Deployment;

json encode_for_admin(db::Tx& tx, const Deployment& row, const Services& services) {
  const auto app = apps::find(tx, row.app_id);
  const auto owner = accounts::find(tx, row.owner_id);
  json body = encode(row, services);
  body["app_name"] = app ? json(app->app_name) : json();
  body["owner_id"] = row.owner_id;
  body["owner"] = owner ? json(owner->username) : json();
  body["suspended"] = row.suspended_at.has_value();
  return body;
}

namespace {

// How many entries of the log, the newest, a deployment is shown with.
constexpr size_t shown_log_entries = 100;

std::optional<std::string> id_query(const Call& call, const char* name) {
  const auto text = call.query(name);
  if (!text || text->empty()) return std::nullopt;
  return text;
}

Reply list_all_deployments(db::Tx& tx, const Call& call, const Services& services) {
  const deployments::AdminFilter filter = {
      .search = id_query(call, "q"),
      .status = enum_query<deployments::Status>(call, "status"),
      .tier = id_query(call, "tier"),
      .billing = enum_query<billing::Status>(call, "billing"),
      .app_id = id_query(call, "app_id"),
      .owner_id = id_query(call, "owner_id")};
  return {.body = encode_page(
              "deployments", deployments::list_for_admin(tx, filter, call.page()),
              [&](const Deployment& row) { return encode_for_admin(tx, row, services); })};
}

Reply get_any_deployment(db::Tx& tx, const Call& call, const Services& services) {
  const auto row = deployments::find(tx, call.id("deployment_id"));
  if (!row) throw Error(Code::deployment_not_found, "there is no such deployment");
  const auto entries = deployments::newest_logs(tx, row->id);
  json log = json::array();
  for (auto entry = entries.rbegin(); entry != entries.rend() && log.size() < shown_log_entries;
       ++entry)
    log.push_back(encode(*entry));
  return {.body = {{"deployment", encode_for_admin(tx, *row, services)},
                   {"billing", encode_billing(tx, *row)},
                   {"refundable", billing::refundable(tx, row->id)},
                   {"logs", std::move(log)}}};
}

constexpr Param list_query[] = {
    {.name = "q",
     .description = "Returns only deployments whose name or custom domain begins with this text, "
                    "whose id it is, or whose owner's username it is.",
     .example = "shop"},
    {.name = "status",
     .description = "Returns only deployments with this status: pending, deploying, running, "
                    "stopped or errored.",
     .example = "running"},
    {.name = "tier", .description = "Returns only those on this tier, a slug.", .example = "free"},
    {.name = "billing",
     .description = "Returns only those with this billing_status: current, warning, suspended or "
                    "exempt.",
     .example = "current"},
    {.name = "app_id",
     .description = "Returns only those of this app.",
     .example = "01936f5e-7c1a-7000-8000-000000000002",
     .kind = Kind::uuid},
    {.name = "owner_id",
     .description = "Returns only those of the apps of this user.",
     .example = "01936f5e-7c1a-7000-8000-000000000001",
     .kind = Kind::uuid}};

constexpr Route rows[] = {
    {.request = "GET /api/internal/deploy/apps",
     .name = "listAllDeployments",
     .tag = "Internal",
     .summary = "List the deployments of all apps, newest first",
     .text = "Lists the deployments that aren't destroyed, with their apps and owners. With "
             "several filters, entries have to match all of them.",
     .guards = every_admin,
     .paged = true,
     .query = list_query,
     .answer = {200, "InternalDeploymentList"},
     .errors = {Code::validation_failed},
     .readers = db::Readers::heavy,
     .served_by = {"berth admin deployments", "/console/admin"},
     .run = ReadHandler{list_all_deployments}},
    {.request = "GET /api/internal/deploy/apps/{deployment_id}",
     .name = "getAnyDeployment",
     .tag = "Internal",
     .summary = "Show a deployment of any app: its owner, its billing, its log",
     .text = "Returns the deployment, also if it is destroyed, with what it costs, what can be "
             "refunded, and the newest 100 entries of its log, newest first.",
     .guards = every_admin,
     .in_path = {&internal_deployment_in_path},
     .answer = {200, "InternalDeploymentDetails"},
     .errors = {Code::deployment_not_found},
     .served_by = {"berth admin show", "/console/admin"},
     .run = ReadHandler{get_any_deployment}},
};

}  // namespace

std::span<const Route> internal_deployments_routes() { return rows; }

}  // namespace berth::api
