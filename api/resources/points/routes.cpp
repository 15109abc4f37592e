#include "api/gate/route_parts.h"
#include "api/resources/handlers.h"

namespace berth::api {
namespace {

constexpr Rate spending = per_minute(600);  // for one user in one app
constexpr Rate transfers = per_minute(60);

std::vector<Param> history_query() {
  std::vector<Param> params = paged;
  params.push_back({.name = "kind",
                    .type = "string",
                    .description = "Returns only movements of this kind: spend, transfer, mint, ….",
                    .example = "spend"});
  params.push_back(
      {.name = "direction",
       .type = "string",
       .description = "in: points that were received; out: points that were given away.",
       .example = "out"});
  params.push_back({.name = "from",
                    .type = "string",
                    .description = "Returns only movements at or after this time (ISO 8601).",
                    .example = "2026-01-01T00:00:00Z"});
  params.push_back({.name = "to",
                    .type = "string",
                    .description = "Returns only movements before this time (ISO 8601).",
                    .example = "2027-01-01T00:00:00Z"});
  return params;
}

std::vector<Route> own_points() {
  return {
      {.method = "GET",
       .path = "/api/points/balance",
       .name = "pointsBalance",
       .tag = "Points",
       .summary = "Show the caller's balance",
       .access = session(),
       .rate = account_reads,
       .answer = {200, "PointsBalance"},
       .run = ReadHandler{points_balance}},
      {.method = "GET",
       .path = "/api/points/history",
       .name = "pointsHistory",
       .tag = "Points",
       .summary = "List the movements of the caller's points, newest first",
       .access = session(),
       .rate = account_reads,
       .query = history_query(),
       .answer = {200, "PointsHistory"},
       .errors = {Code::validation_failed},
       .run = ReadHandler{points_history}},
      {.method = "POST",
       .path = "/api/points/transfer",
       .name = "transferPoints",
       .tag = "Points",
       .summary = "Transfer points to another user",
       .access = session(),
       .rate = transfers,
       .body_kind = Body::only_json,
       .body = "TransferRequest",
       .answer = {200, "TransferPointsResult"},
       .errors = {Code::user_not_found, Code::insufficient_balance},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{transfer_points}},
  };
}

}  // namespace

std::vector<Route> points_routes() {
  std::vector<Route> all = own_points();
  const std::vector<Route> external = {
      {.method = "GET",
       .path = "/api/external/points/balance",
       .name = "externalPointsBalance",
       .tag = "Points",
       .summary = "Show the user's balance",
       .access = oauth_token({Scope::points_read}),
       .rate = account_reads,
       .answer = {200, "PointsBalance"},
       .run = ReadHandler{points_balance}},
      {.method = "POST",
       .path = "/api/external/points/spend",
       .name = "spendPoints",
       .tag = "Points",
       .summary = "Spend the user's points in the app; they go to the app's account",
       .access = oauth_token({Scope::points_spend}),
       .rate = spending,
       .body_kind = Body::only_json,
       .body = "SpendRequest",
       .check = Check::by_handler,
       .answer = {200, "SpendPointsResult"},
       .errors = {Code::malformed_request, Code::insufficient_balance, Code::spend_limit_reached},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{spend_points}},
      {.method = "POST",
       .path = "/api/external/points/transfer",
       .name = "externalTransferPoints",
       .tag = "Points",
       .summary = "Transfer the user's points to another user",
       .access = oauth_token({Scope::points_transfer}),
       .rate = transfers,
       .body_kind = Body::only_json,
       .body = "TransferRequest",
       .answer = {200, "TransferPointsResult"},
       .errors = {Code::user_not_found, Code::insufficient_balance},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{transfer_points}},
      {.method = "POST",
       .path = "/api/external/points/award",
       .name = "awardPoints",
       .tag = "Points",
       .summary = "Deprecated: always refused, because only admins can award points",
       .access = oauth_token({}),
       .rate = transfers,
       .answer = {200, "Message"},
       .errors = {Code::forbidden},
       .run = ReadHandler{award_points}},
      {.method = "GET",
       .path = "/api/external/app/balance",
       .name = "appBalance",
       .tag = "Points",
       .summary = "Show the app's balance",
       .access = oauth_token({Scope::app_balance_read}),
       .rate = per_minute(120),
       .answer = {200, "Balance"},
       .run = ReadHandler{app_balance}},
      {.method = "GET",
       .path = "/api/operator/analytics",
       .name = "operatorAnalytics",
       .tag = "Points",
       .summary = "Show statistics of the app's users to its owner",
       .access = oauth_token({}),
       .rate = account_reads,
       .query = {{.name = "window_days",
                  .type = "integer",
                  .description = "The number of days, 1 to 365. The default is 30.",
                  .example = "30"}},
       .answer = {200, "OperatorAnalytics"},
       .errors = {Code::insufficient_scope, Code::app_not_found, Code::validation_failed},
       .run = ReadHandler{operator_analytics}},
  };
  all.insert(all.end(), external.begin(), external.end());
  return all;
}

}  // namespace berth::api
