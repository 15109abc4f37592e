#include "api/resources/internal/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {

namespace {

constexpr Param audit_query[] = {
    {.name = "actor", .description = "Returns only what this actor did.", .example = "internal"},
    {.name = "action",
     .description = "Returns only actions of this kind.",
     .example = "points.mint"},
    {.name = "target", .description = "Returns only what was done to this.", .example = "treasury"},
    {.name = "from",
     .description = "Returns only entries at or after this time (ISO 8601).",
     .example = "2026-01-01T00:00:00Z",
     .kind = Kind::time},
    {.name = "to",
     .description = "Returns only entries before this time (ISO 8601).",
     .example = "2027-01-01T00:00:00Z",
     .kind = Kind::time}};

constexpr Route rows[] = {
    {.request = "GET /api/internal/audit",
     .name = "auditLog",
     .tag = "Internal",
     .summary = "List the admins' actions",
     .text = "Lists what administrators did, newest first, with who acted and on what. Several "
             "filters select what has all of them.",
     .guards = admins,
     .paged = true,
     .query = audit_query,
     .answer = {200, "AuditLog"},
     .errors = {Code::validation_failed},
     .served_by = {"berth admin audit", "/console/admin"},
     .run = ReadHandler{audit_log}},
    {.request = "GET /api/internal/outbox",
     .name = "outbox",
     .tag = "Internal",
     .summary = "List mails that were or will be sent (development only)",
     .text = "Lists the newest 200 mails with their tokens, so that tests need no mailbox. It "
             "exists in development only.",
     .guards = admins,
     .answer = {200, "Outbox"},
     .availability = Availability::development_only,
     .served_by = {"berth admin outbox"},
     .run = FreeHandler{outbox}},
    {.request = "GET /api/internal/clock",
     .name = "clock",
     .tag = "Internal",
     .summary = "Show berthd's clock (development only)",
     .text = "Returns the time by which berthd acts. It exists in development only.",
     .guards = admins,
     .answer = {200, "ClockState"},
     .availability = Availability::development_only,
     .served_by = {"berth admin clock"},
     .run = FreeHandler{clock_state}},
    {.request = "POST /api/internal/clock",
     .name = "advanceClock",
     .tag = "Internal",
     .summary = "Move berthd's clock ahead (development only)",
     .text = "Moves the clock ahead, so that renewals and expiry happen now. It can't be moved "
             "back, and exists in development only.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"AdvanceRequest"},
     .answer = {200, "ClockState"},
     .availability = Availability::development_only,
     .served_by = {"berth admin clock"},
     .run = FreeHandler{advance_clock}},
    {.request = "POST /api/internal/backup",
     .name = "backup",
     .tag = "Internal",
     .summary = "Back up the database and the keys, encrypted",
     .text = "Returns the chunks of an archive that is encrypted with the key. `berthd backup` "
             "writes such archives, and `berthd restore` restores them.",
     .guards = {internal_secret(), internal_calls, Shape::nested_but_access},
     .stores = Stores::administration,
     .body = {"BackupRequest"},
     .answer = {.schema = "BackupArchive",
                .content_type = "application/octet-stream",
                .header = "X-Archive-Size"},
     .errors = {Code::unavailable},
     .served_by = {.neither = "`berthd backup` calls it, beside the program whose data it saves."},
     .run = FreeHandler{backup}},
};

}  // namespace

std::span<const Route> internal_routes() { return rows; }

}  // namespace berth::api
