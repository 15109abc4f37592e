#include "api/resources/container_logs/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Param container_logs_query[] = {
    {.name = "follow",
     .description = "If it is true, new lines are sent as they come, also after restarts "
                    "and rollouts.",
     .example = "true"},
    {.name = "tail",
     .description =
         "The greatest number of existing lines to send, 0 to 10000. The default is 1000.",
     .example = "100",
     .kind = Kind::integer,
     .most = container_logs::max_tail,
     .range_in_words = true},
    {.name = "since",
     .description = "Returns only lines since a time (2026-01-31T12:00:00Z) or a duration ago (90, "
                    "90s, 1h30m, 2d).",
     .example = "15m"},
    {.name = "previous",
     .description = "If it is true, the output of the run before the last crash is returned.",
     .example = "true"}};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/container-logs",
     .name = "containerLogs",
     .tag = "Deployments",
     .summary =
         "Read the container's output: as lines of text, or with Accept: text/event-stream as "
         "server-sent events, where Last-Event-ID resumes after that line",
     .text = "Returns what the container has written. With follow=true it goes on with new lines, "
             "across restarts and rollouts, until the token ends or the deployment is deleted. A "
             "log that can't be read is 503 with the name of who failed (the node's kubelet, or "
             "the API server); while a stream of events is followed, an event `problem` with a "
             "`message` says so, once it has lasted for 5 seconds, and berthd goes on trying.",
     .guards = {oauth_token({Scope::deploy_manage}), stream_openings},
     .in_path = {&deployment_in_path},
     .query = container_logs_query,
     .answer = {.status = 200,
                .schema = "ContainerLog",
                .content_type = "text/plain; charset=utf-8",
                .by_accept = "text/event-stream"},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::malformed_request,
                Code::invalid_state},
     .served_by = {"berth deploy logs", "/console"},
     .run = FreeHandler{container_log}},
};

}  // namespace

std::span<const Route> container_logs_routes() { return rows; }

}  // namespace berth::api
