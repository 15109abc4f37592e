#include "api/resources/deployment_events/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Param account_events_query[] = {
    {.name = "apps",
     .description = "The ids of the apps to follow, separated by commas; by default, "
                    "all apps of the account.",
     .example = "01936f5e-7c1a-7000-8000-000000000003"}};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/events",
     .name = "deploymentEvents",
     .tag = "Deployments",
     .summary = "Follow a deployment's status as server-sent events: the first event has the "
                "present status, the others its changes; Last-Event-ID resumes after that event",
     .text = "Sends the status now and at each change, until the token ends or the deployment is "
             "deleted. It replaces polling of …/status.",
     .guards = {oauth_token({Scope::deploy_manage}), stream_openings},
     .in_path = {&deployment_in_path},
     .answer = {.status = 200,
                .schema = "DeploymentEventStream",
                .content_type = "text/event-stream",
                .or_nothing = "The deployment was deleted, and all its events were sent."},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::malformed_request},
     .served_by = {"berth deploy events"},
     .run = ReadHandler{deployment_events}},
    {.request = "GET /api/events",
     .name = "accountEvents",
     .tag = "Deployments",
     .summary =
         "Follow everything that happens to the user's apps as server-sent events: deployments, "
         "domains, billing, campaigns, scope requests; Last-Event-ID resumes after that "
         "event",
     .text = "Streams what happens to the caller's apps as server-sent events: deployments, "
             "domains, billing, campaigns and scope requests. It ends with the login that opened "
             "it; Last-Event-ID resumes after that event.",
     .guards = {session(), stream_openings},
     .query = account_events_query,
     .answer = {.status = 200, .schema = "AccountEventStream", .content_type = "text/event-stream"},
     .errors = {Code::app_not_found, Code::forbidden, Code::malformed_request},
     .served_by = {.page = "/console"},
     .run = ReadHandler{account_events}},
};

}  // namespace

std::span<const Route> deployment_events_routes() { return rows; }

}  // namespace berth::api
