// Deploy on push: deployments that follow the tag of their image, and registries' hooks.
#include "controller/domain/deployments/pushes.h"

#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/base/url.h"

namespace berth::api {
namespace {

using deployments::Deployment;

Reply show_auto_deploy(db::Tx& tx, const Call& call, const Services&) {
  const Deployment row = deployments::get_owned(tx, call.caller->app_id, call.id());
  const auto view = pushes::view(tx, row.id).value_or(pushes::View());
  return {.body = {{"auto_deploy", row.container.auto_deploy},
                   {"image", text_or_null(view.image)},
                   {"digest", or_null(view.digest)},
                   {"asked_at", or_null(view.asked_at)},
                   {"next_at", or_null(view.next_at)},
                   {"error", or_null(view.error)},
                   {"rejected", view.rejected},
                   {"trial_until", or_null(view.trial_until)},
                   {"has_hook", view.has_hook}}};
}

Reply make_hook(db::Tx& tx, const Call& call, const Services& services) {
  const Deployment row = deployments::get_owned(tx, call.caller->app_id, call.id());
  const std::string secret = pushes::make_hook(tx, row);
  return {.status = 201,
          .body = {{"url", services.base_url + "/api/deploy/apps/" + row.id +
                               "/push-hook?token=" + percent_encode(secret)}}};
}

Reply remove_hook(db::Tx& tx, const Call& call, const Services&) {
  const Deployment row = deployments::get_owned(tx, call.caller->app_id, call.id());
  pushes::remove_hook(tx, row.id);
  return {.body = {{"message", "the hook's address no longer works"}}};
}

// Whatever the body says is ignored: the registry itself is asked.
Reply take_hook(db::Tx& tx, const Call& call, const Services&) {
  if (!pushes::hint(tx, call.id(), call.query("token").value_or("")))
    throw Error(Code::deployment_not_found, "there is no such hook");
  return {.status = 202, .body = {{"message", "the registry is asked for a new image"}}};
}

constexpr Errors owned = {Code::deployment_not_found, Code::forbidden};

constexpr Param token_query[] = {{.name = "token",
                                  .description = "The secret of the hook.",
                                  .example = "hook_x",
                                  .required = true}};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/auto-deploy",
     .name = "showAutoDeploy",
     .tag = "Deployments",
     .summary = "Show whether a deployment follows its image's tag, and what was found last",
     .text = "A deployment with auto_deploy has its registry asked for the tag's digest once a "
             "minute. Another digest is rolled out. If that fails within ten minutes, the "
             "deployment goes back to what ran before, and that digest is rejected.",
     .guards = {to_viewers(reads_deployments), deploy_reads},
     .in_path = {&deployment_in_path},
     .answer = {200, "AutoDeploy"},
     .errors = owned,
     .served_by = {"berth auto-deploy show"},
     .run = ReadHandler{show_auto_deploy}},
    {.request = "POST /api/deploy/apps/{id}/auto-deploy/hook",
     .name = "createPushHook",
     .tag = "Deployments",
     .summary = "Make an address to which a registry can send its hook",
     .text = "Returns an address with a secret, in place of an earlier one. A POST to it has the "
             "registry asked at once. It says nothing else: what is rolled out is what the "
             "registry has.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::deployments,
     .in_path = {&deployment_in_path},
     .answer = {201, "PushHook"},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::invalid_state},
     .served_by = {"berth auto-deploy hook"},
     .run = WriteHandler{make_hook}},
    {.request = "DELETE /api/deploy/apps/{id}/auto-deploy/hook",
     .name = "deletePushHook",
     .tag = "Deployments",
     .summary = "Remove the address for a registry's hook",
     .text = "The address answers with 404 from now on. Removing none changes nothing.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::nothing,
     .in_path = {&deployment_in_path},
     .answer = {200, "PushHookMessage"},
     .errors = owned,
     .served_by = {"berth auto-deploy unhook"},
     .run = WriteHandler{remove_hook}},
    {.request = "POST /api/deploy/apps/{id}/push-hook",
     .name = "takePushHook",
     .tag = "Deployments",
     .summary = "Say that an image was pushed (for registries)",
     .text = "Has the registry asked for the tag's digest at once, and again every three seconds "
             "for half a minute. The body is ignored. The secret stands for a login.",
     .guards = {open_to_all(), token_calls},
     .stores = Stores::nothing,
     .in_path = {&deployment_in_path},
     .query = token_query,
     .answer = {202, "PushHookMessage"},
     .errors = {Code::deployment_not_found},
     .unaudited = "Only has the registry asked sooner; the deploy that follows is in the history.",
     .served_by = {.neither = "Registries call it."},
     .run = WriteHandler{take_hook}},
};

}  // namespace

std::span<const Route> pushes_routes() { return rows; }

}  // namespace berth::api
