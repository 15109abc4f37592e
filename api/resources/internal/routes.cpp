#include "api/resources/routes.h"

#include "api/resources/internal/handlers.h"

namespace berth::api {

namespace {

std::vector<Param> audit_query() {
  std::vector<Param> params = paged;
  params.push_back({.name = "actor",
                    .type = "string",
                    .description = "Returns only what this actor did.",
                    .example = "internal"});
  params.push_back({.name = "action",
                    .type = "string",
                    .description = "Returns only actions of this kind.",
                    .example = "points.mint"});
  params.push_back({.name = "target",
                    .type = "string",
                    .description = "Returns only what was done to this.",
                    .example = "treasury"});
  params.push_back({.name = "from",
                    .type = "string",
                    .description = "Returns only entries at or after this time (ISO 8601).",
                    .example = "2026-01-01T00:00:00Z"});
  params.push_back({.name = "to",
                    .type = "string",
                    .description = "Returns only entries before this time (ISO 8601).",
                    .example = "2027-01-01T00:00:00Z"});
  return params;
}

}  // namespace

std::vector<Route> internal_routes() {
  return {
      {.method = "GET",
       .path = "/api/internal/audit",
       .name = "auditLog",
       .tag = "Internal",
       .summary = "List the admins' actions",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .query = audit_query(),
       .answer = {200, "AuditLog"},
       .errors = {Code::validation_failed},
       .run = ReadHandler{audit_log}},
      {.method = "GET",
       .path = "/api/internal/outbox",
       .name = "outbox",
       .tag = "Internal",
       .summary = "List mails that were or will be sent (development only)",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .answer = {200, "Outbox"},
       .availability = Availability::development_only,
       .run = FreeHandler{outbox}},
      {.method = "GET",
       .path = "/api/internal/clock",
       .name = "clock",
       .tag = "Internal",
       .summary = "Show berthd's clock (development only)",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .answer = {200, "ClockState"},
       .availability = Availability::development_only,
       .run = FreeHandler{clock_state}},
      {.method = "POST",
       .path = "/api/internal/clock",
       .name = "advanceClock",
       .tag = "Internal",
       .summary = "Move berthd's clock ahead (development only)",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "AdvanceRequest",
       .answer = {200, "ClockState"},
       .availability = Availability::development_only,
       .run = FreeHandler{advance_clock}},
      {.method = "POST",
       .path = "/api/internal/backup",
       .name = "backup",
       .tag = "Internal",
       .summary = "Back up the database and the keys, encrypted",
       .access = internal_secret(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "BackupRequest",
       .answer = {.schema = "BackupArchive",
                  .content_type = "application/octet-stream",
                  .header = "X-Archive-Size"},
       .errors = {Code::unavailable},
       .run = FreeHandler{backup}},
  };
}

}  // namespace berth::api
