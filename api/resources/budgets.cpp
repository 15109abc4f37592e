// The most that an app, or one of its deployments, may spend.
#include "controller/domain/deployments/metering/budgets.h"

#include "api/gate/authenticate.h"
#include "api/gate/encode.h"
#include "api/resources/accounts/sign_in.h"
#include "api/resources/shared.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/deployments/metering/usage.h"

namespace berth::api {
namespace {

using metering::Budget;
using metering::BudgetChange;

// Of an app's budget, id and name are null.
json encode(const Budget& budget) {
  return {{"deployment_id", text_or_null(budget.deployment_id)},
          {"deployment_name", text_or_null(budget.deployment_name)},
          {"period", budget.period},
          {"limit", budget.limit},
          {"at_limit", budget.at_limit},
          {"spent", budget.spent},
          {"mark", budget.mark},
          {"reached", budget.is_reached},
          {"reached_at", or_null(budget.reached_at)},
          {"period_ends", to_iso8601(budget.period_ends)},
          {"forecast", budget.forecast},
          {"forecast_reached_at", or_null(budget.forecast_reached_at)}};
}

Reply list_budgets(db::Tx& tx, const Call& call, const Services&) {
  json list = json::array();
  for (const Budget& budget : metering::budgets(tx, call.caller->app_id))
    list.push_back(encode(budget));
  const metering::Account account = metering::account(tx, call.caller->app_id);
  return {.body = {{"budgets", std::move(list)},
                   {"account",
                    {{"balance", account.balance},
                     {"held", account.held},
                     {"accrued", account.accrued},
                     {"points_per_hour", account.points_per_hour},
                     {"lasts_until", or_null(account.lasts_until)}}}}};
}

BudgetChange change_in(db::Tx& tx, const Call& call) {
  const json& body = call.body;
  BudgetChange change = {
      .app_id = call.caller->app_id,
      .deployment_id = text_or_nothing(body, "deployment_id").value_or(""),
      .period = parse_enum<metering::BudgetPeriod>(body.at("period").get<std::string>()).value(),
      .limit = body.at("limit").is_null() ? std::nullopt
                                          : std::optional(body.at("limit").get<std::int64_t>())};
  // What the request doesn't name stays as it is.
  if (const auto at_limit = text_or_nothing(body, "at_limit"))
    change.at_limit = parse_enum<metering::AtLimit>(*at_limit).value();
  else
    change.at_limit = metering::present_at_limit(tx, change).value_or(change.at_limit);
  return change;
}

// Whether somebody has proven that they are there: what the request presents has to be right, or
// the console's session has a fresh proof. An app's own token has no session.
void require_person(const Call& call, const Services& services) {
  const accounts::User user =
      services.db.read([&](db::Tx& tx) { return account_of(tx, call.caller->user_id); });
  require_proof(user, call.session_id,
                {.password = text_or_nothing(call.body, "password"),
                 .totp_code = text_or_nothing(call.body, "totp_code"),
                 .address = call.address},
                services);
}

Reply put_budget(const Call& call, const Services& services) {
  const bool needs_proof = services.db.read(
      [&](db::Tx& tx) { return metering::lets_more_be_spent(tx, change_in(tx, call)); });
  if (needs_proof) require_person(call, services);
  return services.db.write([&](db::Tx& tx) -> Reply {
    const BudgetChange change = change_in(tx, call);
    // Somebody may have lowered the limit in between.
    if (!needs_proof && metering::lets_more_be_spent(tx, change))
      throw Error(Code::insufficient_user_authentication,
                  "the budget was changed at the same time; try again");
    const auto budget = metering::set_budget(tx, change);
    return {.body = {{"budget", budget ? encode(*budget) : json()}}};
  });
}

constexpr Guards owners_app = {reads_deployments, deploy_reads};

constexpr Route rows[] = {
    {.request = "GET /api/operator/budgets",
     .name = "listBudgets",
     .tag = "Deployments",
     .summary = "List the budgets of an app and its deployments",
     .text = "Returns all budgets, the app's own first, with what is spent of each in its present "
             "period, and what will be spent if it goes on as in the last 7 days; and for how long "
             "the app's points last for what is priced by the hour.",
     .guards = owners_app,
     .answer = {200, "BudgetList"},
     .served_by = {"berth budget list", "/console"},
     .run = ReadHandler{list_budgets}},
    {.request = "PUT /api/operator/budgets",
     .name = "putBudget",
     .tag = "Deployments",
     .summary = "Set, change or remove what an app or a deployment may spend",
     .text = "Sets the most that may be spent in a UTC day, or in 30 UTC days of which the present "
             "one is the last. The owner is told at 50, 75, 90 and 100 %. At 100 % everything that "
             "is priced by the hour is stopped, and with stop_all the other deployments, too; "
             "nothing is deleted, and all of it starts again when the limit is raised or the "
             "period moves on. A limit below what is spent already is reached at once. What lets "
             "more be spent (a higher limit, none, or stop_metered instead of stop_all) needs a "
             "person: the password or a code in the request or, in the console, in the last 10 "
             "minutes.",
     .guards = {changes_deployments, deploy_writes},
     .stores = Stores::deployments,
     .body = {"BudgetRequest"},
     .answer = {200, "BudgetEnvelope"},
     .errors = {Code::deployment_not_found, Code::insufficient_user_authentication,
                Code::invalid_credentials, Code::invalid_totp},
     .event = {SecurityKind::app_changed, "budget"},
     .served_by = {"berth budget set", "/console"},
     .run = FreeHandler{put_budget}},
};

}  // namespace

std::span<const Route> budgets_routes() { return rows; }

}  // namespace berth::api
