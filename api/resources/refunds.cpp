// Refunds of what users spent in apps: by the app, and by administrators.
#include "controller/domain/points/refunds.h"

#include "api/gate/encode.h"
#include "api/resources/refunds/giving_back.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

Reply refund_spend(db::Tx& tx, const Call& call, const Services& services) {
  require_may_give_back(tx, call);
  const points::Refund made =
      points::refund(tx, {.spend_id = call.body.at("spend_id"),
                          .amount = call.body.at("amount"),
                          .reason = text_or_nothing(call.body, "reason").value_or(""),
                          .app_id = call.caller->app_id});
  refund_requests::answered_by_refund(tx,
                                      {.subject = refund_requests::Subject::spend,
                                       .subject_id = made.spend_id,
                                       .amount = made.amount,
                                       .by = points::Initiator::owner},
                                      services.keys);
  return {.status = 201, .body = encode_refund(made)};
}

Reply refund_any_spend(db::Tx& tx, const Call& call, const Services& services) {
  return {.status = 201,
          .body = order(tx, call, services,
                        {.kind = proposals::Kind::refund,
                         .subject_id = call.body.at("spend_id"),
                         .amount = call.body.at("amount"),
                         .reason = call.body.at("reason")})};
}

constexpr Rate refunds = per_minute(60);  // for the owner in one app

constexpr Route rows[] = {
    {.request = "POST /api/external/points/refunds",
     .name = "refundSpend",
     .tag = "Points",
     .summary = "Give points back that a user has spent in the app",
     .text = "Moves points from the app's balance back to the user, within 90 days of the spend: "
             "all of them, or a part, several times if need be. Only the app itself can: with a "
             "token of the grant client_credentials, or one of its owner, that has one of the "
             "scopes deploy:manage and campaigns:manage, or all that the app is approved for. An "
             "open request for the spend is answered by it. The user's daily limit for the app "
             "stays used. What was a bonus comes back as a bonus, and so do up to 100 "
             "points that made a bonus the user's own, or rewarded who referred them.",
     .guards = {to_billing(oauth_token({})), refunds},
     .stores = Stores::payments,
     .body = {"SpendRefundRequest"},
     .answer = {201, "SpendRefundResult"},
     .errors = {Code::forbidden, Code::insufficient_scope, Code::app_not_found, Code::not_found,
                Code::invalid_state, Code::refund_exceeds_spend, Code::insufficient_balance,
                Code::bonus_locked},
     .idempotency = Idempotency::kept,
     .served_by = {.command = "berth points refund"},
     .run = WriteHandler{refund_spend}},
    {.request = "POST /api/internal/points/refunds",
     .name = "refundAnySpend",
     .tag = "Internal",
     .summary = "Give points back that a user has spent in any app",
     .text = "Moves points from the app's balance back to the user who spent them, however long "
             "that is ago. The reason is kept in the audit log, and the user sees it. Above the "
             "points of a day that one admin may give back, it becomes a proposal, which another "
             "admin confirms.",
     .guards = every_admin,
     .stores = Stores::administration,
     .body = {"AdminSpendRefundRequest"},
     .answer = {201, "AdminSpendRefundResult"},
     .errors = {Code::not_found, Code::invalid_state, Code::refund_exceeds_spend,
                Code::insufficient_balance, Code::bonus_locked},
     .idempotency = Idempotency::kept,
     .served_by = {"berth admin refund-spend", "/console/admin"},
     .run = WriteHandler{refund_any_spend}},
};

}  // namespace

std::span<const Route> refunds_routes() { return rows; }

}  // namespace berth::api
