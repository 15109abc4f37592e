// Previews: copies of deployments for a limited time.
#include "controller/domain/deployments/previews.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/deployments.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

json encode(const previews::Preview& preview, const Services& services) {
  return {{"deployment", encode(preview.deployment, services)},
          {"expires_at", to_iso8601(preview.expires_at)}};
}

previews::Wanted decode(const json& body) {
  previews::Wanted wanted = {
      .name = body.at("name"), .image = text_or_nothing(body, "image"), .env = {}, .budget = {}};
  if (const auto ttl = body.find("ttl_seconds"); ttl != body.end())
    wanted.ttl = std::chrono::seconds(ttl->get<std::int64_t>());
  if (const auto env = body.find("env_vars"); env != body.end() && env->is_object())
    for (const auto& [variable, value] : decode_variable_changes(*env))
      wanted.env[variable] = value.value_or("");
  if (const auto budget = body.find("budget"); budget != body.end() && !budget->is_null())
    wanted.budget = budget->get<std::int64_t>();
  return wanted;
}

Reply create_preview(db::Tx& tx, const Call& call, const Services& services) {
  if (!call.caller->deployments.empty())
    throw Error(Code::forbidden,
                "a preview is another deployment, and the caller may only use some of the app's");
  const auto preview = previews::create(tx, actor_of(call), call.id(), decode(call.body),
                                        services.rules.deployments, services.keys.data);
  json body = {{"preview", encode(preview, services)}};
  if (const auto env = call.body.find("env_vars"); env != call.body.end())
    warn_of_port(*env, "env_vars", body);
  return {.status = 201, .body = std::move(body)};
}

Reply list_previews(db::Tx& tx, const Call& call, const Services& services) {
  json list = json::array();
  for (const auto& preview : previews::list(tx, call.caller->app_id, call.id()))
    list.push_back(encode(preview, services));
  return {.body = {{"previews", std::move(list)}}};
}

constexpr Route rows[] = {
    {.request = "POST /api/deploy/apps/{id}/previews",
     .name = "createPreview",
     .tag = "Deployments",
     .summary = "Run a copy of a deployment under another name for a limited time",
     .text = "Creates a deployment that runs what this one runs, or another image, on the same "
             "tier, with one container of each process. It has only the variables of the request, "
             "and no custom domain, crons or deploys on push. When its time is over it is deleted "
             "with all it had.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::deployments,
     .in_path = {&deployment_in_path},
     .body = {"CreatePreviewRequest"},
     .answer = {201, "PreviewEnvelope"},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::deployment_destroyed,
                Code::deployment_suspended, Code::invalid_state, Code::unsupported_registry,
                Code::unknown_tier, Code::payment_method_unsupported, Code::tier_not_allowed,
                Code::subdomain_taken, Code::deployment_limit_reached, Code::insufficient_balance,
                Code::budget_reached},
     .idempotency = Idempotency::kept,
     .served_by = {"berth preview"},
     .run = WriteHandler{create_preview}},
    {.request = "GET /api/deploy/apps/{id}/previews",
     .name = "listPreviews",
     .tag = "Deployments",
     .summary = "List a deployment's previews",
     .text = "Returns the copies of the deployment that haven't ended.",
     .guards = {to_viewers(reads_deployments), deploy_reads},
     .in_path = {&deployment_in_path},
     .answer = {200, "PreviewList"},
     .errors = {Code::deployment_not_found, Code::forbidden},
     .served_by = {"berth preview"},
     .run = ReadHandler{list_previews}},
};

}  // namespace

std::span<const Route> previews_routes() { return rows; }

}  // namespace berth::api
