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
      {.method = "GET",
       .path = "/api/events",
       .name = "accountEvents",
       .tag = "Deployments",
       .summary =
           "Follow everything that happens to the user's apps as server-sent events: deployments, "
           "domains, billing, campaigns, scope requests; Last-Event-ID resumes after that "
           "event",
       .access = session(),
       .rate = stream_openings,
       .query = {{.name = "apps",
                  .type = "string",
                  .description = "The ids of the apps to follow, separated by commas; by default, "
                                 "all apps of the account.",
                  .example = "01936f5e-7c1a-7000-8000-000000000003"}},
       .answer = {.status = 200,
                  .schema = "AccountEventStream",
                  .content_type = "text/event-stream"},
       .errors = {Code::app_not_found, Code::forbidden, Code::malformed_request},
       .run = ReadHandler{account_events}},
  };
}

}  // namespace berth::api
