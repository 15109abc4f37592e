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
  };
}

}  // namespace berth::api
