#include "api/resources/routes.h"

#include "api/resources/container_logs/handlers.h"

namespace berth::api {

std::vector<Route> container_logs_routes() {
  return {
      {.method = "GET",
       .path = "/api/deploy/apps/{id}/container-logs",
       .name = "containerLogs",
       .tag = "Deployments",
       .summary = "What the container writes: lines of text, or with Accept: text/event-stream "
                  "server-sent events, of which Last-Event-ID goes on behind that line",
       .access = oauth_token({Scope::deploy_manage}),
       .rate = stream_openings,
       .query = {{.name = "follow",
                  .type = "string",
                  .description = "true: goes on with what comes, also over restarts and rollouts.",
                  .example = "true"},
                 {.name = "tail",
                  .type = "integer",
                  .description =
                      "So many of the newest lines at most: 0 to 10000; 1000 where it is "
                      "left out.",
                  .example = "100"},
                 {.name = "since",
                  .type = "string",
                  .description =
                      "A time (2026-01-31T12:00:00Z), or how long ago: 90, 90s, 15m, 2h.",
                  .example = "15m"},
                 {.name = "previous",
                  .type = "string",
                  .description = "true: of the run before the last crash.",
                  .example = "true"}},
       .answer = {.status = 200,
                  .schema = "ContainerLog",
                  .content_type = "text/plain; charset=utf-8",
                  .by_accept = "text/event-stream"},
       .errors = {Code::deployment_not_found, Code::forbidden, Code::malformed_request,
                  Code::invalid_state},
       .run = FreeHandler{container_log}},
  };
}

}  // namespace berth::api
