#include "api/resources/routes.h"

#include "api/resources/fleet/handlers.h"

namespace berth::api {

std::vector<Route> fleet_routes() {
  return {
      {.method = "GET",
       .path = "/api/internal/fleet",
       .name = "fleet",
       .tag = "Internal",
       .summary = "Show the state of berthd's work: the cluster, what waits, what has failed",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .answer = {200, "Fleet"},
       .run = FreeHandler{fleet}},
      {.method = "GET",
       .path = "/api/internal/isolation",
       .name = "isolation",
       .tag = "Internal",
       .summary = "Show what the isolation probe has found",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .answer = {200, "IsolationReport"},
       .run = FreeHandler{isolation_report}},
      {.method = "POST",
       .path = "/api/internal/isolation/probe",
       .name = "probeIsolation",
       .tag = "Internal",
       .summary = "Run the isolation probe now",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .answer = {200, "IsolationReport"},
       .errors = {Code::invalid_state, Code::unavailable},
       .run = FreeHandler{probe_isolation}},
  };
}

}  // namespace berth::api
