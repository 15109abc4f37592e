#include "api/resources/refunds/giving_back.h"

#include "api/gate/encode.h"
#include "controller/base/error.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/points/claw_backs.h"

namespace berth::api {
namespace {

// A token that was asked for with fewer scopes than the app could get has been narrowed on purpose.
// The scopes that move users' points are left out, because the app itself only gets them by
// consent; and so are those that every app has, unless the app has no others.
bool is_whole(const apps::App& app, const ScopeSet& scopes) {
  static const ScopeSet of_users = {Scope::points_spend, Scope::points_transfer,
                                    Scope::points_award};
  const ScopeSet all = app.approved_scopes - of_users;
  const ScopeSet own = all - ScopeSet::automatic() - ScopeSet::identity();
  return (own.empty() ? all : own).within(scopes);
}

bool spends_apps_points(const ScopeSet& scopes) {
  return scopes.has(Scope::deploy_manage) || scopes.has(Scope::campaigns_manage);
}

// Refuses what could never be carried out, so that nothing of that kind waits for a second admin.
// Returns the user whom the order is about.
std::optional<std::string> check(db::Tx& tx, const proposals::Order& order) {
  if (order.request_id) refund_requests::require_open(refund_requests::get(tx, *order.request_id));
  if (order.kind == proposals::Kind::refund) {
    const auto spend = points::find_refundable(tx, order.subject_id);
    if (!spend) throw Error(Code::not_found, "there is no such spend");
    if (order.amount > spend->amount - spend->refunded)
      throw points::exceeds_spend(spend->amount, spend->refunded);
    return spend->user_id;
  }
  if (order.kind == proposals::Kind::deployment_refund) {
    if (!deployments::find(tx, order.subject_id))
      throw Error(Code::deployment_not_found, "there is no such deployment");
    billing::require_refundable(order.amount, billing::refundable(tx, order.subject_id));
    return std::nullopt;
  }
  const auto given = points::find_given(tx, order.subject_id);
  if (!given)
    throw Error(Code::not_found,
                "there is no such transaction that gave a user or an app points of the treasury, "
                "minted points, or points of a spend back");
  if (order.amount > given->amount - given->taken_back)
    throw invalid_field("amount", "must be at most " +
                                      std::to_string(given->amount - given->taken_back) +
                                      ", which is left of the transaction to take back");
  return given->account_kind == "user" ? std::optional(given->owner) : std::nullopt;
}

json give_back_spend(db::Tx& tx, const Call& call, const Services& services,
                     const proposals::Order& order) {
  const points::Refund made = points::refund(tx, {.spend_id = order.subject_id,
                                                  .amount = order.amount,
                                                  .reason = order.reason,
                                                  .app_id = std::nullopt,
                                                  .admin = call.admin});
  refund_requests::answered_by_refund(tx,
                                      {.subject = refund_requests::Subject::spend,
                                       .subject_id = made.spend_id,
                                       .amount = made.amount,
                                       .by = points::Initiator::admin},
                                      services.keys);
  return encode_refund(made);
}

json refund_deployment(db::Tx& tx, const Call& call, const proposals::Order& order) {
  const std::int64_t balance =
      billing::refund(tx, {.admin = call.admin, .request_id = call.request_id}, order.subject_id,
                      order.amount, order.reason);
  return {{"amount", order.amount},
          {"refundable", billing::refundable(tx, order.subject_id)},
          {"balance", balance}};
}

json claw_back(db::Tx& tx, const Call& call, const proposals::Order& order) {
  const points::ClawBack made = points::claw_back(tx, {.transaction_id = order.subject_id,
                                                       .amount = order.amount,
                                                       .reason = order.reason,
                                                       .admin = call.admin});
  return {{"claw_back",
           {{"id", made.id},
            {"transaction_id", made.transaction_id},
            {"amount", made.amount},
            {"inserted_at", to_iso8601(made.at)}}},
          {"taken_back", made.taken_back},
          {"left", made.left}};
}

json give_back_charge(db::Tx& tx, const Call& call, const Services& services,
                      const proposals::Order& order) {
  json made = refund_deployment(tx, call, order);
  refund_requests::answered_by_refund(tx,
                                      {.subject = refund_requests::Subject::deployment,
                                       .subject_id = order.subject_id,
                                       .amount = order.amount,
                                       .by = points::Initiator::admin},
                                      services.keys);
  return made;
}

// What answers a request also closes it.
json answer_request(db::Tx& tx, const Call& call, const Services& services,
                    const proposals::Order& order) {
  const refund_requests::Request request = refund_requests::get(tx, *order.request_id);
  const refund_requests::Answer answer = {
      .amount = order.amount, .note = order.reason, .admin = call.admin};
  if (request.subject == refund_requests::Subject::spend)
    return {{"request", encode_request_for_answer(tx, refund_requests::approve_spend(
                                                          tx, request, answer, services.keys))}};
  const auto closed = refund_requests::approved(tx, request, answer, services.keys);
  proposals::Order charge = order;
  // The operator's own words stay in the request alone, which is erased with their account; the
  // reason is kept in the audit log and with the refund.
  if (charge.reason.empty()) charge.reason = "refund request " + request.id;
  refund_deployment(tx, call, charge);
  return {{"request", encode_request_for_answer(tx, closed)}};
}

}  // namespace

void require_may_give_back(db::Tx& tx, const Call& call) {
  const oauth::Caller& caller = *call.caller;
  const auto app = apps::find(tx, caller.app_id);
  if (!app) throw Error(Code::app_not_found, "the app was deleted");
  // The app's points are its owner's, so a token for another user, whatever its scopes are, gives
  // nothing of them away. A token of the grant client_credentials stands for the owner.
  // Those who call for themselves were asked for their role by the gate.
  if (!caller.first_party && app->owner_id != caller.user_id)
    throw Error(Code::forbidden,
                "only the app itself can give points back: with a token of the grant "
                "client_credentials, or one that belongs to its owner");
  const bool is_console = caller.first_party && call.user;
  if (is_console || spends_apps_points(caller.scopes)) return;
  if (caller.first_party)
    throw Error(Code::insufficient_scope,
                "berth's own client, or a personal access token, needs deploy:manage or "
                "campaigns:manage, by which it can spend "
                "the app's points, to give them back");
  if (!is_whole(*app, caller.scopes))
    throw Error(
        Code::insufficient_scope,
        "the token was narrowed: to give points back it needs deploy:manage or "
        "campaigns:manage, by which it could spend the app's points, or all scopes that the "
        "app is approved for");
}

json encode_refund(const points::Refund& refund) {
  return {{"refund",
           {{"id", refund.id},
            {"spend_id", refund.spend_id},
            {"amount", refund.amount},
            {"inserted_at", to_iso8601(refund.at)}}},
          {"refunded", refund.refunded},
          {"refundable", refund.refundable}};
}

json encode_request(db::Tx& tx, const refund_requests::Request& request) {
  const auto app = apps::find(tx, request.app_id);
  const bool is_spend = request.subject == refund_requests::Subject::spend;
  const bool is_open = request.status == refund_requests::Status::open;
  return {{"id", request.id},
          {"spend_id", is_spend ? json(request.subject_id) : json()},
          {"deployment_id", is_spend ? json() : json(request.subject_id)},
          {"app_id", request.app_id},
          {"app_name", app ? json(app->app_name) : json()},
          {"amount", request.amount},
          {"reason", request.reason},
          {"status", to_string(request.status)},
          {"note", or_null(request.note)},
          {"refunded", or_null(request.refunded)},
          {"answered_by", request.answered_by ? json(to_string(*request.answered_by)) : json()},
          {"inserted_at", to_iso8601(request.inserted_at)},
          {"closed_at", or_null(request.closed_at)},
          {"expires_at",
           is_open ? json(to_iso8601(request.inserted_at + refund_requests::open_for)) : json()}};
}

json encode_request_for_answer(db::Tx& tx, const refund_requests::Request& request) {
  json encoded = encode_request(tx, request);
  const auto user = accounts::find(tx, request.user_id);
  encoded["username"] = user ? json(user->username) : json();
  return encoded;
}

json encode_proposal(const proposals::Proposal& proposal) {
  return {{"id", proposal.id},
          {"kind", to_string(proposal.order.kind)},
          {"subject_id", proposal.order.subject_id},
          {"request_id", or_null(proposal.order.request_id)},
          {"amount", proposal.order.amount},
          {"reason", proposal.order.reason},
          {"status", to_string(proposal.status)},
          {"proposed_by", proposal.proposed_by},
          {"seconded_by", or_null(proposal.seconded_by)},
          {"decided_by", or_null(proposal.decided_by)},
          {"inserted_at", to_iso8601(proposal.inserted_at)},
          {"decided_at", or_null(proposal.decided_at)},
          {"expires_at", proposal.status == proposals::Status::open
                             ? json(to_iso8601(proposal.inserted_at + proposals::open_for))
                             : json()}};
}

namespace {

// The points that this admin may give back on a day without another admin.
std::int64_t most_alone(const Call& call, const Services& services) {
  const Rules& rules = services.rules;
  return call.admin_role == accounts::AdminRole::support
             ? std::min(rules.support_refund_limit, rules.refund_two_admins_above)
             : rules.refund_two_admins_above;
}

}  // namespace

json order(db::Tx& tx, const Call& call, const Services& services, const proposals::Order& order) {
  proposals::Order checked = order;
  checked.user_id = check(tx, order);
  const auto proposal = proposals::propose(tx, checked, call.admin, most_alone(call, services));
  json body = proposal ? json::object() : carry_out(tx, call, services, checked);
  if (proposal) body["proposal"] = encode_proposal(*proposal);
  return body;
}

json carry_out(db::Tx& tx, const Call& call, const Services& services,
               const proposals::Order& order) {
  if (order.request_id) return answer_request(tx, call, services, order);
  switch (order.kind) {
    case proposals::Kind::refund:
      return give_back_spend(tx, call, services, order);
    case proposals::Kind::deployment_refund:
      return give_back_charge(tx, call, services, order);
    case proposals::Kind::claw_back:
      break;
  }
  return claw_back(tx, call, order);
}

}  // namespace berth::api
