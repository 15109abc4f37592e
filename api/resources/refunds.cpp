// Refunds of what users spent in apps: by the app, and by administrators.
#include "controller/domain/points/refunds.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/apps/apps.h"

namespace berth::api {
namespace {

// The app's points are its owner's, so a token for another user, whatever its scopes are, gives
// nothing of them away. A token of the grant client_credentials stands for the owner.
void require_owner(db::Tx& tx, const Call& call) {
  const auto app = apps::find(tx, call.caller->app_id);
  if (!app) throw Error(Code::app_not_found, "the app was deleted");
  if (app->owner_id != call.caller->user_id)
    throw Error(Code::forbidden,
                "only the app itself can give points back: with a token of the grant "
                "client_credentials, or one that belongs to its owner");
  // A token of berth's own client may have been given for less than the owner's money.
  const ScopeSet& scopes = call.caller->scopes;
  if (call.caller->first_party && !scopes.has(Scope::deploy_manage) &&
      !scopes.has(Scope::campaigns_manage))
    throw Error(Code::insufficient_scope,
                "berth's own client needs deploy:manage or campaigns:manage, by which it can spend "
                "the app's points, to give them back");
}

// `app_id` is that of the app that asks, and null if an administrator does.
Reply refund(db::Tx& tx, const Call& call, const std::optional<std::string>& app_id) {
  const points::Refund made =
      points::refund(tx, {.spend_id = call.body.at("spend_id"),
                          .amount = call.body.at("amount"),
                          .reason = text_or_nothing(call.body, "reason").value_or(""),
                          .app_id = app_id,
                          .admin = call.admin});
  return {.status = 201,
          .body = {{"refund",
                    {{"id", made.id},
                     {"spend_id", made.spend_id},
                     {"amount", made.amount},
                     {"inserted_at", to_iso8601(made.at)}}},
                   {"refunded", made.refunded},
                   {"refundable", made.refundable}}};
}

Reply refund_spend(db::Tx& tx, const Call& call, const Services&) {
  require_owner(tx, call);
  return refund(tx, call, call.caller->app_id);
}

Reply refund_any_spend(db::Tx& tx, const Call& call, const Services&) {
  return refund(tx, call, std::nullopt);
}

constexpr Rate refunds = per_minute(60);  // for the owner in one app

constexpr Route rows[] = {
    {.request = "POST /api/external/points/refunds",
     .name = "refundSpend",
     .tag = "Points",
     .summary = "Give points back that a user has spent in the app",
     .text = "Moves points from the app's balance back to the user, within 90 days of the spend: "
             "all of them, or a part, several times if need be. Only the app itself can: with a "
             "token of the grant client_credentials, or one of its owner. The user's daily limit "
             "for the app stays used. What was a bonus comes back as a bonus, and so do up to 100 "
             "points that made a bonus the user's own, or rewarded who referred them.",
     .guards = {oauth_token({}), refunds},
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
             "that is ago. The reason is kept in the audit log, and the user sees it.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"AdminSpendRefundRequest"},
     .answer = {201, "SpendRefundResult"},
     .errors = {Code::not_found, Code::invalid_state, Code::refund_exceeds_spend,
                Code::insufficient_balance, Code::bonus_locked},
     .idempotency = Idempotency::kept,
     .served_by = {.command = "berth admin refund-spend"},
     .run = WriteHandler{refund_any_spend}},
};

}  // namespace

std::span<const Route> refunds_routes() { return rows; }

}  // namespace berth::api
