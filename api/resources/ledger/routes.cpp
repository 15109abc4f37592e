#include "api/gate/day_window.h"
#include "api/resources/ledger/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Route rows[] = {
    {.request = "POST /api/internal/points/mint",
     .name = "mint",
     .tag = "Internal",
     .summary = "Mint points",
     .text = "Creates points and credits them to the treasury, a user or an app. The reason is "
             "kept in the audit log.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"MintRequest"},
     .answer = {201, "MintResult"},
     .errors = {Code::user_not_found, Code::app_not_found},
     .idempotency = Idempotency::kept,
     .served_by = {"berth admin mint", "/console/admin"},
     .run = WriteHandler{mint}},
    {.request = "GET /api/internal/treasury",
     .name = "treasury",
     .tag = "Internal",
     .summary = "Show the treasury's balance",
     .text = "Returns what the treasury has, and how many points exist in all.",
     .guards = admins,
     .answer = {200, "Treasury"},
     .served_by = {"berth admin treasury", "/console/admin"},
     .run = ReadHandler{treasury}},
    {.request = "GET /api/internal/treasury/days",
     .name = "treasuryDays",
     .tag = "Internal",
     .summary = "Show the treasury and the supply of points by UTC day",
     .text = "Returns the treasury's balance, the supply and the rewards for each UTC day of a "
             "window of at most 366 days; by default the last 30 days.",
     .guards = admins,
     .query = day_window_query,
     .answer = {200, "TreasuryDays"},
     .errors = {Code::validation_failed},
     .served_by = {.page = "/console/admin"},
     .run = ReadHandler{treasury_days}},
    {.request = "GET /api/internal/ledger/audit",
     .name = "ledgerAudit",
     .tag = "Internal",
     .summary = "Check the ledger: new rows now, old rows by the checks in the background",
     .text = "Checks what is new in the ledger now, and returns what the checks in the background "
             "found in what is older.",
     .guards = admins,
     .answer = {200, "LedgerAudit"},
     .readers = db::Readers::heavy,
     .served_by = {"berth admin ledger", "/console/admin"},
     .run = ReadHandler{ledger_audit}},
};

}  // namespace

std::span<const Route> ledger_routes() { return rows; }

}  // namespace berth::api
