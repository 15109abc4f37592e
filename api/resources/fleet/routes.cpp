#include "api/resources/fleet/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Route rows[] = {
    {.request = "GET /api/internal/fleet",
     .name = "fleet",
     .tag = "Internal",
     .summary = "Show the state of berthd's work: the cluster, what waits, what has failed",
     .text = "Returns the state of the cluster, the work that waits or has failed, what is left of "
             "the budget of certificates, mail and deliveries that wait, the age of the newest "
             "backup, and the room on the disk. The numbers of reconciles are those of the process "
             "that answers. Prometheus gets the same and more from berthd's metrics.",
     .guards = admins,
     .answer = {200, "Fleet"},
     .served_by = {.page = "/console/admin"},
     .run = FreeHandler{fleet}},
    {.request = "GET /api/internal/isolation",
     .name = "isolation",
     .tag = "Internal",
     .summary = "Show what the isolation probe has found",
     .text = "Returns what the newest isolation probe found: each path that a container like the "
             "operators' tried, and whether it is as wanted. A probe runs when a berthd begins to "
             "lead, daily, and when it is asked for.",
     .guards = admins,
     .answer = {200, "IsolationReport"},
     .served_by = {"berth admin isolation"},
     .run = FreeHandler{isolation_report}},
    {.request = "POST /api/internal/isolation/probe",
     .name = "probeIsolation",
     .tag = "Internal",
     .summary = "Run the isolation probe now",
     .text = "Asks for a run of the isolation probe, and returns at once what is known so far, "
             "with `busy`. The run takes a minute or so, for which two namespaces with four small "
             "pods are on the cluster; if one is under way, it isn't started again. It is refused "
             "on the simulated cluster and while the configuration key `isolation` is `off`.",
     .guards = admins,
     .stores = Stores::administration,
     .answer = {200, "IsolationReport"},
     .errors = {Code::invalid_state, Code::unavailable},
     .served_by = {"berth admin isolation"},
     .run = FreeHandler{probe_isolation}},
};

}  // namespace

std::span<const Route> fleet_routes() { return rows; }

}  // namespace berth::api
