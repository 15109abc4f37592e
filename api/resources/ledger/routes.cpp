#include "api/resources/routes.h"

#include "api/gate/day_window.h"
#include "api/resources/ledger/handlers.h"

namespace berth::api {

std::vector<Route> ledger_routes() {
  return {
      {.method = "POST",
       .path = "/api/internal/points/mint",
       .name = "mint",
       .tag = "Internal",
       .summary = "Mint points",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "MintRequest",
       .answer = {201, "MintResult"},
       .errors = {Code::user_not_found, Code::app_not_found},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{mint}},
      {.method = "GET",
       .path = "/api/internal/treasury",
       .name = "treasury",
       .tag = "Internal",
       .summary = "Show the treasury's balance",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .answer = {200, "Treasury"},
       .run = ReadHandler{treasury}},
      {.method = "GET",
       .path = "/api/internal/treasury/days",
       .name = "treasuryDays",
       .tag = "Internal",
       .summary = "Show the treasury and the supply of points by UTC day",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .query = day_window_query(),
       .answer = {200, "TreasuryDays"},
       .errors = {Code::validation_failed},
       .run = ReadHandler{treasury_days}},
      {.method = "GET",
       .path = "/api/internal/ledger/audit",
       .name = "ledgerAudit",
       .tag = "Internal",
       .summary = "Check the ledger: new rows now, old rows by the checks in the background",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .answer = {200, "LedgerAudit"},
       .readers = db::Readers::heavy,
       .run = ReadHandler{ledger_audit}},
  };
}

}  // namespace berth::api
