#include "api/resources/routes.h"

#include "api/resources/deployment_events/handlers.h"

namespace berth::api {

std::vector<Route> deployment_events_routes() {
  return {
      {.method = "GET",
       .path = "/api/deploy/apps/{id}/events",
       .name = "deploymentEvents",
       .tag = "Deployments",
       .summary = "Changes of a deployment's status as server-sent events: one at once that says "
                  "how it is, then each change; Last-Event-ID goes on behind that one",
       .access = oauth_token({Scope::deploy_manage}),
       .rate = stream_openings,
       .answer = {.status = 200,
                  .schema = "DeploymentEventStream",
                  .content_type = "text/event-stream",
                  .or_nothing = "It is deleted, and everything was sent."},
       .errors = {Code::deployment_not_found, Code::forbidden, Code::malformed_request},
       .run = ReadHandler{deployment_events}},
  };
}

}  // namespace berth::api
