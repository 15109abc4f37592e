#include "api/resources/routes.h"

#include "api/resources/container_logs/handlers.h"

namespace berth::api {

std::vector<Route> container_logs_routes() {
  return {
      {.method = "GET",
       .path = "/api/deploy/apps/{id}/container-logs",
       .name = "containerLogs",
       .tag = "Deployments",
       .summary =
           "Read the container's output: as lines of text, or with Accept: text/event-stream as "
           "server-sent events, where Last-Event-ID resumes after that line",
       .access = oauth_token({Scope::deploy_manage}),
       .rate = stream_openings,
       .query =
           {{.name = "follow",
             .type = "string",
             .description = "If it is true, new lines are sent as they come, also after restarts "
                            "and rollouts.",
             .example = "true"},
            {.name = "tail",
             .type = "integer",
             .description =
                 "The greatest number of existing lines to send, 0 to 10000. The default is 1000.",
             .example = "100"},
            {.name = "since",
             .type = "string",
             .description =
                 "Returns only lines since a time (2026-01-31T12:00:00Z) or a duration ago (90, "
                 "90s, 1h30m, 2d).",
             .example = "15m"},
            {.name = "previous",
             .type = "string",
             .description =
                 "If it is true, the output of the run before the last crash is returned.",
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
