#include "api/resources/routes.h"

#include "api/resources/deployment_events/handlers.h"

namespace berth::api {

std::vector<Route> deployment_events_routes() {
  return {
      {.method = "GET",
       .path = "/api/deploy/apps/{id}/events",
       .name = "deploymentEvents",
       .tag = "Deployments",
       .summary = "Follow a deployment's status as server-sent events: the first event has the "
                  "present status, the others its changes; Last-Event-ID resumes after that event",
       .access = oauth_token({Scope::deploy_manage}),
       .rate = stream_openings,
       .answer = {.status = 200,
                  .schema = "DeploymentEventStream",
                  .content_type = "text/event-stream",
                  .or_nothing = "The deployment was deleted, and all its events were sent."},
       .errors = {Code::deployment_not_found, Code::forbidden, Code::malformed_request},
       .run = ReadHandler{deployment_events}},
  };
}

}  // namespace berth::api
