// Where points come from and go to: of an app for its owner, and of the platform for
// administrators.
#include "controller/domain/money/money.h"

#include "api/gate/encode.h"
#include "api/resources/points.h"
#include "api/resources/shared.h"
#include "controller/domain/apps/members.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/money/anomalies.h"

namespace berth::api {
namespace {

int days_of(const Call& call) { return int(call.number("days").value_or(money::default_days)); }

json encode_kinds(const std::vector<money::KindSum>& kinds) {
  json all = json::array();
  for (const money::KindSum& one : kinds)
    all.push_back(
        {{"kind", one.kind}, {"movements", one.movements}, {"in", one.in}, {"out", one.out}});
  return all;
}

json encode_charge(const std::optional<money::Charge>& charge) {
  if (!charge) return nullptr;
  return {{"deployment_id", charge->deployment_id},
          {"name", charge->name},
          {"amount", charge->amount},
          {"at", to_iso8601(charge->at)}};
}

// An app's token is about that app, and so is a personal token. A person who calls in the console,
// with a session token or by berth's own client names one of their apps by `app_id`, or else as
// everywhere by Berth-App.
std::string app_asked_for(db::Tx& tx, const Call& call) {
  const auto named = call.query("app_id", Kind::uuid);
  if (call.caller && (!call.caller->first_party || !call.caller->personal_token_id.empty())) {
    check_may_see_figures(tx, call);
    if (named && *named != call.caller->app_id)
      throw Error(Code::forbidden, "the token is of another app");
    return call.caller->app_id;
  }
  const apps::App app =
      apps::choose(tx, call.user->id,
                   named.value_or(std::string(call.http.headers.get("Berth-App"))))
          .app;
  if (app.suspended) throw Error(Code::account_suspended, "the app is suspended");
  return apps::require_member(tx, call.user->id, app.id, *call.route->guards.access.role).id;
}

Reply app_money(db::Tx& tx, const Call& call, const Services&) {
  const std::string app_id = app_asked_for(tx, call);
  const int days = days_of(call);
  const money::OfApp sums = money::of_app(tx, app_id, days);
  return {.body = {{"app_id", app_id},
                   {"days", days},
                   {"balance", sums.balance},
                   {"held", sums.held},
                   {"earned", sums.earned},
                   {"spent", sums.spent},
                   {"kinds", encode_kinds(sums.kinds)},
                   {"forecast",
                    {{"days", sums.forecast.days},
                     {"in", sums.forecast.in},
                     {"out", sums.forecast.out},
                     {"days_left", or_null(sums.forecast.days_left)}}},
                   {"next_charge", encode_charge(sums.charges.next)},
                   {"first_unpaid_charge", encode_charge(sums.charges.first_unpaid)}}};
}

Reply platform_money(db::Tx& tx, const Call& call, const Services&) {
  const int days = days_of(call);
  const money::OfPlatform sums = money::of_platform(tx, days);
  json movers = json::array();
  for (const money::Mover& one : sums.movers)
    movers.push_back({{"app_id", one.app_id},
                      {"app_name", or_null(one.name)},
                      {"in", one.in},
                      {"out", one.out}});
  json anomalies = json::array();
  for (const money::Anomaly& one : money::anomalies(tx))
    anomalies.push_back({{"rule", to_string(one.rule)},
                         {"app_id", or_null(one.app_id)},
                         {"app_name", or_null(one.name)},
                         {"date", utc_date(one.day)},
                         {"value", one.value},
                         {"threshold", one.usual}});
  return {.body = {{"days", days},
                   {"supply", sums.supply},
                   {"treasury", sums.treasury},
                   {"owed", sums.owed},
                   {"held", sums.held},
                   {"issued", sums.issued},
                   {"supply_before", sums.supply_before},
                   {"owed_before", sums.owed_before},
                   {"treasury_kinds", encode_kinds(sums.treasury_kinds)},
                   {"movers", std::move(movers)},
                   {"complete", sums.complete},
                   {"anomalies", std::move(anomalies)}}};
}

constexpr Param app_query[] = {{.name = "days",
                                .description = "The number of UTC days, today included: 1 to 365. "
                                               "The default is 30.",
                                .example = "30",
                                .kind = Kind::integer,
                                .least = 1,
                                .most = money::max_days_of_app,
                                .range_in_words = true},
                               {.name = "app_id",
                                .description = "An app of which the caller is a member; for the "
                                               "console and for session tokens. An app's token is "
                                               "always about that app.",
                                .example = "01936f5e-7c1a-7000-8000-000000000002",
                                .kind = Kind::uuid}};

constexpr Param platform_query[] = {{.name = "days",
                                     .description = "The number of UTC days, today included: 1 to "
                                                    "31. The default is 30.",
                                     .example = "30",
                                     .kind = Kind::integer,
                                     .least = 1,
                                     .most = money::max_days_of_platform,
                                     .range_in_words = true}};

constexpr Route rows[] = {
    {.request = "GET /api/operator/money",
     .name = "appMoney",
     .tag = "Points",
     .summary = "Show where an app's points come from, where they go, and how long they last",
     .text =
         "Returns the app's balance and what is held, its movements by kind, a forecast from "
         "the last 7 full days, the next charge of a deployment, and the first one that the "
         "balance wouldn't suffice for. Only its owner, by a token of the app or logged in, gets "
         "them, and a token with `app:balance:read`.",
     .guards = {to_viewers(jwt_or_oauth({})), account_reads},
     .query = app_query,
     .answer = {200, "AppMoney"},
     .errors = {Code::forbidden, Code::insufficient_scope, Code::app_not_found,
                Code::malformed_request, Code::validation_failed},
     .served_by = {"berth points app", "/console/apps"},
     .run = ReadHandler{app_money}},
    {.request = "GET /api/internal/money",
     .name = "platformMoney",
     .tag = "Internal",
     .summary = "Show where the platform's points are, who moves most, and what is unusual",
     .text = "Returns all points that exist, the treasury's, those that it owes to users and apps, "
             "what is held, the apps that move most, and anomalies: bonus points of new accounts "
             "that gather in one app (farming), a day on which far more left an account than usual "
             "(sudden_outflow), and ads that are seen by their app's owner or from their networks "
             "(self_clicking). Nothing is refused because of an anomaly.",
     .guards = every_admin,
     .query = platform_query,
     .answer = {200, "PlatformMoney"},
     .errors = {Code::validation_failed},
     .readers = db::Readers::heavy,
     .served_by = {"berth admin money", "/console/admin"},
     .run = ReadHandler{platform_money}},
};

}  // namespace

std::span<const Route> money_routes() { return rows; }

}  // namespace berth::api
