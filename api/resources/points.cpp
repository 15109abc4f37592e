// Points as users and operators see them: balances, transfers, spending, and an operator's
// earnings.
#include "api/resources/points.h"

#include <cmath>

#include "api/gate/day_window.h"
#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/points/points.h"

namespace berth::api {
namespace {

// By the specification, "Errors", a malformed spend request is a 400, and an amount that can't be
// paid is a 422.
std::int64_t decode_spent_amount(const json& body) {
  const auto amount = body.is_object() ? body.find("amount") : body.end();
  // A whole number above 2^53 stays a double (body.h).
  const bool too_large = amount != body.end() && amount->is_number() &&
                         std::abs(amount->get<double>()) > double(ledger::max_points);
  if (amount == body.end() || !(amount->is_number_integer() || too_large))
    throw Error(Code::malformed_request, "amount must be a whole number");
  if (too_large || amount->get<std::int64_t>() < 1)
    throw invalid_field("amount", "must be an integer from 1 to 9007199254740991");
  return amount->get<std::int64_t>();
}

std::string decode_description(const json& body) {
  const auto description = body.find("description");
  if (description == body.end() || description->is_null()) return "";
  if (!description->is_string() ||
      characters(description->get_ref<const std::string&>()) > points::max_description_length)
    throw invalid_field("description", "must be a text of at most 200 characters");
  const std::string text = composed(description->get_ref<const std::string&>());
  if (const auto refusal = refusal_of_text(text, Lines::one))
    throw invalid_field("description", std::string(*refusal));
  return text;
}

Reply transfer(db::Tx& tx, const debits::Payer& payer, const json& body) {
  const std::int64_t amount = body.at("amount");
  const std::string description = decode_description(body);
  const points::Recipient recipient = {.user_id = text_or_nothing(body, "to_user_id"),
                                       .username = text_or_nothing(body, "to_username")};
  const std::int64_t left = points::transfer(tx, payer, recipient, amount, description);
  return {.body = {{"success", true}, {"points", left}, {"amount_transferred", amount}}};
}

points::Filter decode_filter(const Call& call) {
  points::Filter filter = {.kind = call.query("kind"),
                           .direction = {},
                           .from = instant_query(call, "from"),
                           .until = end_query(call, "to")};
  if (const auto direction = call.query("direction")) {
    if (*direction != "in" && *direction != "out")
      throw invalid_field("direction", "must be in or out");
    filter.direction = *direction == "in" ? points::Direction::in : points::Direction::out;
  }
  return filter;
}

json encode_entry(const points::Entry& entry) {
  const bool has_owner = !entry.counterparty.owner.empty();
  return {{"id", entry.transaction_id},
          {"kind", entry.kind},
          {"amount", entry.amount},
          {"description", entry.description},
          {"counterparty",
           {{"kind", entry.counterparty.kind},
            {"id", has_owner ? json(entry.counterparty.owner) : json(nullptr)},
            {"name", or_null(entry.counterparty_name)}}},
          {"inserted_at", to_iso8601(entry.at)}};
}

std::optional<int> days_in(std::string_view text) {
  const bool digits =
      text.size() <= 3 && text.find_first_not_of("0123456789") == std::string_view::npos;
  const int days = digits && !text.empty() ? std::stoi(std::string(text)) : 0;
  return days < 1 || days > points::max_window_days ? std::nullopt : std::optional(days);
}

// The same window may be written as window_days=7 and as period=7d, the form of the answer.
int window_of(const Call& call) {
  const auto window = call.number("window_days");
  const auto period = call.query("period");
  if (!period) return int(window.value_or(points::default_window_days));
  const bool in_days = period->ends_with('d');
  const auto days = in_days ? days_in(period->substr(0, period->size() - 1)) : std::nullopt;
  if (!days) throw invalid_field("period", "must be a number of days from 1d to 365d, such as 7d");
  if (window && *window != *days) throw invalid_field("period", "contradicts window_days");
  return *days;
}

// What the days of users' and of apps' accounts have in common.
json encode_day(const ledger::Day& day) {
  return {{"date", utc_date(day.day)},
          {"balance", day.balance},
          {"earned", day.credited},
          {"spent", day.debited}};
}

Reply points_balance(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"points", ledger::balance(tx, ledger::user_account(user_of(call)))}}};
}

Reply points_history(db::Tx& tx, const Call& call, const Services&) {
  const ledger::Account account = ledger::user_account(user_of(call));
  return {.body =
              encode_page("entries", points::history(tx, account, decode_filter(call), call.page()),
                          encode_entry)};
}

Reply points_days(db::Tx& tx, const Call& call, const Services&) {
  const DayWindow window = day_window(call, tx.now(), ledger::max_history_days);
  const ledger::Account account = ledger::user_account(user_of(call));
  json days = json::array();
  for (const ledger::Day& day : ledger::history(tx, account, window.first, window.last))
    days.push_back(encode_day(day));
  return {.body = {{"days", std::move(days)}}};
}

Reply transfer_points(db::Tx& tx, const Call& call, const Services&) {
  return transfer(tx, payer_of(call), call.body);
}

Reply top_up_app(db::Tx& tx, const Call& call, const Services&) {
  const points::ToppedUp moved =
      points::top_up(tx, payer_of(call), call.body.at("app_id"), call.body.at("amount"),
                     decode_description(call.body));
  return {.body = {{"transaction_id", moved.id},
                   {"points", moved.balance},
                   {"app_balance", moved.app_balance}}};
}

Reply app_history(db::Tx& tx, const Call& call, const Services&) {
  check_may_see_figures(tx, call);
  const ledger::Account account = ledger::app_account(call.caller->app_id);
  // What users are called is for apps to which they have given profile:read.
  const auto without_users = [&](const points::Entry& entry) {
    json encoded = encode_entry(entry);
    const bool is_user = entry.counterparty.kind == "user";
    if (is_user && entry.counterparty.owner != call.caller->user_id)
      encoded["counterparty"]["name"] = nullptr;
    return encoded;
  };
  return {.body =
              encode_page("entries", points::history(tx, account, decode_filter(call), call.page()),
                          without_users)};
}

Reply spend_points(db::Tx& tx, const Call& call, const Services& services) {
  const std::int64_t amount = decode_spent_amount(call.body);
  const points::Spent spent = points::spend(tx,
                                            {.grant_id = call.caller->grant_id,
                                             .user_id = call.caller->user_id,
                                             .app_id = call.caller->app_id,
                                             .amount = amount,
                                             .description = decode_description(call.body),
                                             .in_own_app = call.caller->owns_app,
                                             .is_told = call.caller->tells_of_spends},
                                            services.rules.rewards);
  return {.body = {{"success", true},
                   {"points", spent.balance},
                   {"amount_spent", amount},
                   {"spend_id", spent.id}}};
}

Reply award_points(db::Tx&, const Call&, const Services&) {
  throw Error(Code::forbidden, "points:award is deprecated: only admins can award points");
}

Reply app_balance(db::Tx& tx, const Call& call, const Services&) {
  const std::string& app = call.caller->app_id;
  return {.body = {{"balance", ledger::balance(tx, ledger::app_account(app))},
                   {"held", ledger::held(tx, ledger::app_account(app))},
                   {"app_id", app}}};
}

Reply operator_analytics(db::Tx& tx, const Call& call, const Services&) {
  const std::string& app_id = call.caller->app_id;
  check_may_see_figures(tx, call);
  const int window = window_of(call);
  const points::Analytics figures = points::analytics(tx, app_id, window);
  return {.body = {{"total_users", figures.total_users},
                   {"total_spends", figures.total_spends},
                   {"total_awards", figures.total_awards},
                   {"window_days", window},
                   {"earnings", figures.earnings},
                   {"dau", figures.daily_active_users},
                   {"retention_7d", figures.retention_7d},
                   {"period", std::to_string(window) + "d"}}};
}

Reply operator_analytics_days(db::Tx& tx, const Call& call, const Services&) {
  check_may_see_figures(tx, call);
  const DayWindow window = day_window(call, tx.now(), ledger::max_history_days);
  const ledger::Account account = ledger::app_account(call.caller->app_id);
  json days = json::array();
  for (const ledger::Day& day : ledger::history(tx, account, window.first, window.last)) {
    days.push_back(encode_day(day));
    days.back().update({{"spends", 0}, {"earnings", 0}});
  }
  for (const ledger::KindDay& one : ledger::kinds(tx, account, window.first, window.last)) {
    json& day = days.at(size_t(one.day - window.first));
    if (one.kind == "spend") day["spends"] = one.sum.postings;
    day["earnings"] = day["earnings"].get<std::int64_t>() + points::earned_by(one);
  }
  return {.body = {{"days", std::move(days)}}};
}

constexpr Rate spending = per_minute(600);  // for one user in one app
constexpr Rate transfers = per_minute(60);

constexpr Param history_query[] = {
    {.name = "kind",
     .description =
         "Returns only movements of this kind: spend, transfer, mint, signup_bonus, …; the "
         "refusal of another one names all.",
     .example = "spend"},
    {.name = "direction",
     .description = "If it is in, returns only points that were received; if it is "
                    "out, only points that were given away.",
     .example = "out"},
    {.name = "from",
     .description = "Returns only movements at or after this time (ISO 8601).",
     .example = "2026-01-01T00:00:00Z",
     .kind = Kind::time},
    {.name = "to",
     .description = "Returns only movements before this time (ISO 8601); with a "
                    "date alone, those of that day are included.",
     .example = "2027-01-01T00:00:00Z",
     .kind = Kind::time}};

constexpr Param operator_analytics_query[] = {
    {.name = "window_days",
     .description = "The number of days, 1 to 365. The default is 30.",
     .example = "30",
     .kind = Kind::integer,
     .least = 1,
     .most = points::max_window_days,
     .range_in_words = true},
    {.name = "period",
     .description = "The number of days in the form of the answer's field `period`, such as 7d.",
     .example = "30d"}};

constexpr Route rows[] = {
    {.request = "GET /api/points/balance",
     .name = "pointsBalance",
     .tag = "Points",
     .summary = "Show the caller's balance",
     .text = "Returns the points that the caller has.",
     .guards = {with_pages_of_apps(person()), account_reads},
     .answer = {200, "PointsBalance"},
     .read_committed = true,
     .served_by = {"berth points balance", "/console/points"},
     .run = ReadHandler{points_balance}},
    {.request = "GET /api/points/history",
     .name = "pointsHistory",
     .tag = "Points",
     .summary = "List the movements of the caller's points, newest first",
     .text = "Lists each movement of the caller's points with its other side, newest first.",
     .guards = {with_pages_of_apps(person()), account_reads},
     .paged = true,
     .query = history_query,
     .answer = {200, "PointsHistory"},
     .errors = {Code::validation_failed},
     .served_by = {"berth points history", "/console/points"},
     .run = ReadHandler{points_history}},
    {.request = "GET /api/points/days",
     .name = "pointsDays",
     .tag = "Points",
     .summary = "Show the caller's points by UTC day",
     .text = "Returns the caller's balance, and what came and went, for each UTC day of a window "
             "of at most 366 days; by default the last 30 days.",
     .guards = {with_pages_of_apps(session()), account_reads},
     .query = day_window_query,
     .answer = {200, "PointsDays"},
     .errors = {Code::validation_failed},
     .served_by = {.page = "/console/points"},
     .run = ReadHandler{points_days}},
    {.request = "POST /api/points/transfer",
     .name = "transferPoints",
     .tag = "Points",
     .summary = "Transfer points to another user",
     .text = "Takes the amount from the caller and gives it to another user, by id or name, at "
             "once and for good. There is no fee.",
     .guards = {with_pages_of_apps(person({Scope::points_transfer})), transfers},
     .stores = Stores::payments,
     .body = {"TransferRequest"},
     .answer = {200, "TransferPointsResult"},
     .errors = {Code::user_not_found, Code::insufficient_balance, Code::spend_limit_reached,
                Code::bonus_locked, Code::guest_account},
     .idempotency = Idempotency::kept,
     .served_by = {"berth points transfer", "/console/points"},
     .run = WriteHandler{transfer_points}},
    {.request = "POST /api/points/top-up",
     .name = "topUpApp",
     .tag = "Points",
     .summary = "Move points to one of the caller's apps",
     .text = "Takes the amount from the caller and gives it to an app of theirs, at once and "
             "without a fee: it pays for the app's deployments and campaigns. Bonus points stay "
             "bonus points.",
     .guards = {to_billing(person({Scope::points_transfer})), transfers},
     .stores = Stores::payments,
     .body = {"TopUpRequest"},
     .answer = {200, "TopUpResult"},
     .errors = {Code::app_not_found, Code::forbidden, Code::insufficient_balance,
                Code::spend_limit_reached, Code::bonus_locked},
     .idempotency = Idempotency::kept,
     .served_by = {"berth points top-up", "/console/apps"},
     .run = WriteHandler{top_up_app}},
    {.request = "GET /api/operator/money/history",
     .name = "appHistory",
     .tag = "Points",
     .summary = "List the movements of an app's points, newest first",
     .text = "Lists each movement on the app's account with its other side, newest first. Only its "
             "owner's token, or one with `app:balance:read`, gets them.",
     .guards = {to_viewers(oauth_token({})), account_reads},
     .paged = true,
     .query = history_query,
     .answer = {200, "PointsHistory"},
     .errors = {Code::insufficient_scope, Code::app_not_found, Code::validation_failed},
     .served_by = {"berth points app-history", "/console/apps"},
     .run = ReadHandler{app_history}},
    {.request = "GET /api/external/points/balance",
     .name = "externalPointsBalance",
     .tag = "Points",
     .summary = "Show the user's balance",
     .text = "Returns the points of the user who authorized the app.",
     .guards = {with_pages_of_apps(oauth_token({Scope::points_read}, Access::ForApp::none)),
                account_reads},
     .answer = {200, "PointsBalance"},
     .read_committed = true,
     .served_by = {.neither = called_by_apps},
     .run = ReadHandler{points_balance}},
    {.request = "POST /api/external/points/spend",
     .name = "spendPoints",
     .tag = "Points",
     .summary = "Spend the user's points in the app; they go to the app's account",
     .text = "Takes the amount from the user and gives it to the app, at once. The user's daily "
             "limit for the app counts. The app can give the spend back (refundSpend).",
     .guards = {to_billing(with_pages_of_apps(oauth_token({Scope::points_spend}))), spending},
     .stores = Stores::payments,
     .body = {"SpendRequest", Body::Form::only_json, Body::Check::by_handler},
     .answer = {200, "SpendPointsResult"},
     .errors = {Code::malformed_request, Code::insufficient_balance, Code::spend_limit_reached,
                Code::bonus_locked},
     .idempotency = Idempotency::kept,
     .unaudited = "The ledger has the transaction, with the app and the person.",
     .served_by = {.neither = called_by_apps},
     .run = WriteHandler{spend_points}},
    {.request = "POST /api/external/points/transfer",
     .name = "externalTransferPoints",
     .tag = "Points",
     .summary = "Transfer the user's points to another user",
     .text = "Takes the amount from the user and gives it to another user, by id or name, at once "
             "and for good. There is no fee.",
     .guards = {with_pages_of_apps(oauth_token({Scope::points_transfer}, Access::ForApp::none)),
                transfers},
     .stores = Stores::payments,
     .body = {"TransferRequest"},
     .answer = {200, "TransferPointsResult"},
     .errors = {Code::user_not_found, Code::insufficient_balance, Code::spend_limit_reached,
                Code::bonus_locked, Code::guest_account},
     .idempotency = Idempotency::kept,
     .unaudited = "The ledger has the transaction, with both sides.",
     .served_by = {.neither = called_by_apps},
     .run = WriteHandler{transfer_points}},
    {.request = "POST /api/external/points/award",
     .name = "awardPoints",
     .tag = "Points",
     .summary = "Deprecated: always refused, because only admins can award points",
     .text = "Does nothing: it is always refused with forbidden, since only administrators create "
             "points.",
     .guards = {with_pages_of_apps(oauth_token({}, Access::ForApp::none)), transfers},
     .stores = Stores::nothing,
     .answer = {200, "Message"},
     .errors = {Code::forbidden},
     .served_by = {.neither = "It always refuses."},
     .run = ReadHandler{award_points}},
    {.request = "GET /api/external/app/balance",
     .name = "appBalance",
     .tag = "Points",
     .summary = "Show the app's balance",
     .text = "Returns the points that the app has earned and not spent.",
     .guards = {to_viewers(oauth_token({Scope::app_balance_read})), per_minute(120)},
     .answer = {200, "Balance"},
     .read_committed = true,
     .served_by = {"berth apps balance", "/console/new"},
     .run = ReadHandler{app_balance}},
    {.request = "GET /api/operator/analytics",
     .name = "operatorAnalytics",
     .tag = "Points",
     .summary = "Show statistics of the app's users to its owner",
     .text = "Returns figures about users, spending and earnings of the app. Only its owner's "
             "token, or one with `app:balance:read`, gets them.",
     .guards = {to_viewers(oauth_token({})), account_reads},
     .query = operator_analytics_query,
     .answer = {200, "OperatorAnalytics"},
     .errors = {Code::insufficient_scope, Code::app_not_found, Code::validation_failed},
     .readers = db::Readers::heavy,
     .served_by = {.page = "/console/apps"},
     .run = ReadHandler{operator_analytics}},
    {.request = "GET /api/operator/analytics/days",
     .name = "operatorAnalyticsDays",
     .tag = "Points",
     .summary = "Show the app's balance and earnings by UTC day to its owner",
     .text = "Returns the app's balance and earnings for each UTC day of a window of at most 366 "
             "days; by default the last 30 days. Only its owner's token, or one with "
             "`app:balance:read`, gets them.",
     .guards = {to_viewers(oauth_token({})), account_reads},
     .query = day_window_query,
     .answer = {200, "OperatorAnalyticsDays"},
     .errors = {Code::insufficient_scope, Code::app_not_found, Code::validation_failed},
     .served_by = {.page = "/console/apps"},
     .run = ReadHandler{operator_analytics_days}},
};

}  // namespace

// An app's figures are for its owner, and for those whom the owner gives the scope.
void check_may_see_figures(db::Tx& tx, const Call& call) {
  const auto app = apps::find(tx, call.caller->app_id);
  if (!app) throw Error(Code::app_not_found, "the app was deleted");
  // The gate has asked those who call for themselves for their role.
  if (call.caller->first_party) return;
  if (app->owner_id != call.caller->user_id && !call.caller->scopes.has(Scope::app_balance_read))
    throw Error(Code::insufficient_scope,
                "the token must belong to the app's owner or have the scope app:balance:read");
}

std::span<const Route> points_routes() { return rows; }

}  // namespace berth::api
