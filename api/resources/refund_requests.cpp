// Requests for points back: users ask for what they spent and operators for what a deployment was
// charged; the app's owner and administrators answer.
#include "controller/domain/points/refund_requests.h"

#include "api/gate/authenticate.h"
#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/refunds/giving_back.h"
#include "api/resources/shared.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/members.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::api {
namespace {

using refund_requests::Request;

accounts::User user_of(db::Tx& tx, const Call& call) {
  return call.user ? *call.user : account_of(tx, call.caller->user_id);
}

bool may_spend_for(db::Tx& tx, const accounts::User& user, const std::string& app_id) {
  try {
    apps::require_member(tx, user.id, app_id, apps::Role::billing);
    return true;
  } catch (const Error&) {
    return false;
  }
}

Request ask_for_charge(db::Tx& tx, const Call& call, const std::string& deployment_id) {
  const accounts::User user = user_of(tx, call);
  const auto deployment = deployments::find(tx, deployment_id);
  const auto app = deployment ? apps::find(tx, deployment->app_id) : std::nullopt;
  if (!app || !may_spend_for(tx, user, app->id))
    throw Error(Code::deployment_not_found, "you have no such deployment");
  const std::int64_t most = billing::refundable(tx, deployment_id);
  const std::int64_t amount = integer_or_nothing(call.body, "amount").value_or(most);
  if (most == 0)
    throw Error(Code::invalid_state,
                "nothing can be given back: the deployment was charged nothing, or got it back");
  billing::require_refundable(amount, most);
  return refund_requests::ask_for_charge(
      tx, user, {.deployment_id = deployment_id, .app_id = app->id, .amount = amount},
      call.body.at("reason"));
}

Reply ask(db::Tx& tx, const Call& call, const Services& services) {
  const auto spend = text_or_nothing(call.body, "spend_id");
  const auto deployment = text_or_nothing(call.body, "deployment_id");
  if (spend.has_value() == deployment.has_value())
    throw invalid_field("spend_id", "is required, or deployment_id, but not both");
  const Request made = spend
                           ? refund_requests::ask_for_spend(tx, user_of(tx, call), *spend,
                                                            integer_or_nothing(call.body, "amount"),
                                                            call.body.at("reason"), services.keys)
                           : ask_for_charge(tx, call, *deployment);
  return {.status = 201, .body = {{"request", encode_request(tx, made)}}};
}

Reply list_own(db::Tx& tx, const Call& call, const Services&) {
  const auto page = refund_requests::list_of_user(tx, user_of(tx, call).id, call.page());
  return {.body = encode_page("refund_requests", page,
                              [&](const Request& request) { return encode_request(tx, request); })};
}

Reply withdraw(db::Tx& tx, const Call& call, const Services&) {
  const Request withdrawn = refund_requests::withdraw(tx, user_of(tx, call).id, call.id());
  return {.body = {{"request", encode_request(tx, withdrawn)}}};
}

std::optional<refund_requests::Status> status_of(const Call& call) {
  return enum_query<refund_requests::Status>(call, "status");
}

refund_requests::Answer answer_of(const json& body) {
  return {.amount = integer_or_nothing(body, "amount"),
          .note = text_or_nothing(body, "note").value_or("")};
}

Reply list_of_app(db::Tx& tx, const Call& call, const Services&) {
  require_may_give_back(tx, call);
  const auto page =
      refund_requests::list_of_app(tx, call.caller->app_id, status_of(call), call.page());
  return {.body = encode_page("refund_requests", page, [&](const Request& request) {
            return encode_request_for_answer(tx, request);
          })};
}

Reply answer_of_app(db::Tx& tx, const Call& call, const Services& services) {
  require_may_give_back(tx, call);
  const Request request = refund_requests::get_of_app(tx, call.caller->app_id, call.id());
  const refund_requests::Answer answer = answer_of(call.body);
  const Request closed = call.body.at("approve").get<bool>()
                             ? refund_requests::approve_spend(tx, request, answer, services.keys)
                             : refund_requests::reject(tx, request, answer, services.keys);
  return {.body = {{"request", encode_request_for_answer(tx, closed)}}};
}

Reply list_all(db::Tx& tx, const Call& call, const Services&) {
  const auto page = refund_requests::list_all(tx, status_of(call), call.page());
  return {.body = encode_page("refund_requests", page, [&](const Request& request) {
            return encode_request_for_answer(tx, request);
          })};
}

Reply answer_of_admin(db::Tx& tx, const Call& call, const Services& services) {
  const Request request = refund_requests::get(tx, call.id());
  refund_requests::Answer answer = answer_of(call.body);
  answer.admin = call.admin;
  if (!call.body.at("approve").get<bool>())
    return {.body = {
                {"request", encode_request_for_answer(
                                tx, refund_requests::reject(tx, request, answer, services.keys))}}};
  const bool is_spend = request.subject == refund_requests::Subject::spend;
  json body =
      order(tx, call, services,
            {.kind = is_spend ? proposals::Kind::refund : proposals::Kind::deployment_refund,
             .subject_id = request.subject_id,
             .request_id = request.id,
             .amount = refund_requests::amount_of(request, answer),
             .reason = answer.note});
  if (!body.contains("request")) body["request"] = encode_request_for_answer(tx, request);
  return {.body = std::move(body)};
}

constexpr Rate asking = per_minute(10);  // for one user

constexpr Param status_query[] = {
    {.name = "status",
     .description = "Returns only requests with this status: open, approved, rejected, withdrawn "
                    "or expired.",
     .example = "open"}};

constexpr Placeholder request_in_path = {"RefundRequestId", "The id of the refund request.",
                                         "01936f5e-7c1a-7000-8000-00000000000d"};

constexpr Route rows[] = {
    {.request = "POST /api/points/refund-requests",
     .name = "requestRefund",
     .tag = "Points",
     .summary = "Ask for points back that the caller has spent in an app, or that a deployment of "
                "theirs was charged",
     .text = "Asks the app's owner for the points of a spend, within 90 days of it; or the "
             "platform's admins for what a deployment of the caller was charged. The same points "
             "can have one open request, and three altogether; a user can ask 10 times a day. The "
             "answer comes by mail. A request without an answer is closed after 30 days.",
     .guards = {person(), asking},
     .stores = Stores::payments,
     .body = {"RefundRequestBody"},
     .answer = {201, "RefundRequestEnvelope"},
     .errors = {Code::not_found, Code::deployment_not_found, Code::invalid_state,
                Code::refund_exceeds_spend},
     .idempotency = Idempotency::kept,
     .served_by = {"berth refunds request", "/console/points"},
     .run = WriteHandler{ask}},
    {.request = "GET /api/points/refund-requests",
     .name = "listOwnRefundRequests",
     .tag = "Points",
     .summary = "List what the caller has asked to get back",
     .text = "Lists the caller's requests with their answers, newest first. They are kept for 400 "
             "days after they were closed.",
     .guards = {person(), account_reads},
     .paged = true,
     .answer = {200, "RefundRequestList"},
     .served_by = {"berth refunds list", "/console/points"},
     .run = ReadHandler{list_own}},
    {.request = "DELETE /api/points/refund-requests/{id}",
     .name = "withdrawRefundRequest",
     .tag = "Points",
     .summary = "Withdraw an open refund request",
     .text = "Withdraws one of the caller's requests before it is answered.",
     .guards = {person(), account_writes},
     .stores = Stores::nothing,
     .in_path = {&request_in_path},
     .answer = {200, "RefundRequestEnvelope"},
     .errors = {Code::not_found, Code::invalid_state},
     .served_by = {"berth refunds withdraw", "/console/points"},
     .run = WriteHandler{withdraw}},
    {.request = "GET /api/operator/refund-requests",
     .name = "listRefundRequests",
     .tag = "Points",
     .summary = "List what the app's users ask to get back",
     .text = "Lists the requests of the app's users about what they spent in it, newest first. "
             "Only who may give points back (refundSpend) sees them.",
     .guards = {to_viewers(oauth_token({})), account_reads},
     .paged = true,
     .query = status_query,
     .answer = {200, "RefundRequestList"},
     .errors = {Code::forbidden, Code::insufficient_scope, Code::app_not_found},
     .served_by = {"berth refunds list", "/console/apps"},
     .run = ReadHandler{list_of_app}},
    {.request = "POST /api/operator/refund-requests/{id}/answer",
     .name = "answerRefundRequest",
     .tag = "Points",
     .summary = "Approve or reject a refund request of one of the app's users",
     .text = "Approving gives the points back at once, as refundSpend does: all that were asked "
             "for, or fewer. The user is told by mail, and webhooks by `refund.answered`.",
     .guards = {to_billing(oauth_token({})), account_writes},
     .stores = Stores::payments,
     .in_path = {&request_in_path},
     .body = {"RefundAnswerBody"},
     .answer = {200, "RefundRequestEnvelope"},
     .errors = {Code::forbidden, Code::insufficient_scope, Code::app_not_found, Code::not_found,
                Code::invalid_state, Code::refund_exceeds_spend, Code::insufficient_balance,
                Code::bonus_locked},
     .idempotency = Idempotency::kept,
     .served_by = {"berth refunds answer", "/console/apps"},
     .run = WriteHandler{answer_of_app}},
    {.request = "GET /api/internal/refund-requests",
     .name = "internalListRefundRequests",
     .tag = "Internal",
     .summary = "List the refund requests of all users and operators",
     .text = "Lists the requests, newest first: for spends, which the apps' owners answer, and for "
             "what deployments were charged, which only admins answer.",
     .guards = every_admin,
     .paged = true,
     .query = status_query,
     .answer = {200, "RefundRequestList"},
     .served_by = {"berth admin refund-requests", "/console/admin"},
     .run = ReadHandler{list_all}},
    {.request = "POST /api/internal/refund-requests/{id}/answer",
     .name = "internalAnswerRefundRequest",
     .tag = "Internal",
     .summary = "Approve or reject a refund request of any user or operator",
     .text = "Approving gives the points back: those of a spend from the app, and those of a "
             "deployment from the treasury. Above the points of a day that one admin may give "
             "back, it becomes a proposal, and the request stays open until another admin has "
             "confirmed it.",
     .guards = every_admin,
     .stores = Stores::administration,
     .in_path = {&request_in_path},
     .body = {"RefundAnswerBody"},
     .answer = {200, "RefundRequestEnvelope"},
     .errors = {Code::not_found, Code::deployment_not_found, Code::invalid_state,
                Code::refund_exceeds_spend, Code::insufficient_balance, Code::bonus_locked,
                Code::unavailable},
     .idempotency = Idempotency::kept,
     .served_by = {"berth admin answer-refund", "/console/admin"},
     .run = WriteHandler{answer_of_admin}},
};

}  // namespace

std::span<const Route> refund_requests_routes() { return rows; }

}  // namespace berth::api
