// The apps that a user has connected.
#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/oauth/connections.h"

namespace berth::api {
namespace {

json encode(const connections::Connection& connection, const Services& services) {
  // The latest use may not have been written to the database yet.
  const auto noted = services.logins.uses.last(connection.grant_id);
  return {{"app_id", connection.app_id},
          {"app_name", connection.app_name},
          {"app_description", connection.app_description},
          {"logo_url", or_null(connection.logo_url)},
          {"scopes", connection.scopes.names()},
          {"connected_at", to_iso8601(connection.connected_at)},
          {"last_used", or_null(noted ? noted : connection.last_used)},
          {"daily_spend_limit", or_null(connection.daily_spend_limit)},
          {"spent_today", connection.spent_today},
          {"session_access", connection.session_access}};
}

Reply one(const connections::Connection& connection, const Services& services) {
  return {.body = {{"connected_app", encode(connection, services)}}};
}

Reply list_connected_apps(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = encode_page("connected_apps", connections::list(tx, call.user->id, call.page()),
                              [&](const connections::Connection& connection) {
                                return encode(connection, services);
                              })};
}

Reply get_connected_app(db::Tx& tx, const Call& call, const Services& services) {
  return one(connections::get(tx, call.user->id, call.id("app_id")), services);
}

Reply limit_connected_app(db::Tx& tx, const Call& call, const Services& services) {
  const std::string& app_id = call.id("app_id");
  const auto limit = call.body.find("daily_spend_limit");
  std::optional<play::SessionAccess> access;
  set(access, call.body, "session_access");
  if (limit == call.body.end() && !access)
    throw invalid_field("daily_spend_limit", "is required, or session_access");
  if (limit != call.body.end())
    connections::set_daily_spend_limit(
        tx, call.user->id, app_id,
        limit->is_null() ? std::nullopt : std::optional(limit->get<std::int64_t>()));
  if (access) connections::set_session_access(tx, call.user->id, app_id, *access);
  return one(connections::get(tx, call.user->id, app_id), services);
}

Reply disconnect_app(db::Tx& tx, const Call& call, const Services&) {
  connections::disconnect(tx, call.user->id, call.id("app_id"));
  return message_reply("the app was disconnected, and its tokens no longer work");
}

constexpr Route rows[] = {
    {.request = "GET /api/oauth/connected-apps",
     .name = "listConnectedApps",
     .tag = "OAuth",
     .summary = "List the apps that the caller has connected",
     .text =
         "Lists the apps that the caller has consented to, with their scopes, limits and last use.",
     .guards = {person(), account_reads},
     .paged = true,
     .answer = {200, "ConnectedAppList"},
     .served_by = {"berth account apps", "/console/account"},
     .run = ReadHandler{list_connected_apps}},
    {.request = "GET /api/oauth/connected-apps/{app_id}",
     .name = "getConnectedApp",
     .tag = "OAuth",
     .summary = "Show an app that the caller has connected",
     .text = "Returns one connected app with its scopes, limits and last use.",
     .guards = {person(), account_reads},
     .in_path = {&app_in_path},
     .answer = {200, "ConnectedAppEnvelope"},
     .errors = {Code::app_not_found},
     .served_by = {.page = "/connected-apps"},
     .run = ReadHandler{get_connected_app}},
    {.request = "PATCH /api/oauth/connected-apps/{app_id}",
     .name = "limitConnectedApp",
     .tag = "OAuth",
     .summary = "Set what an app may spend in a day, and whether it may act as the caller",
     .text = "Limits what the app may spend of the caller's points in a UTC day, or what it may do "
             "with its session tokens. It applies at once.",
     .guards = {session(), account_writes},
     .stores = Stores::account,
     .in_path = {&app_in_path},
     .body = {"ConnectedAppChanges"},
     .answer = {200, "ConnectedAppEnvelope"},
     .errors = {Code::app_not_found},
     .event = {SecurityKind::consent_changed, "limited"},
     .served_by = {"berth account limit", "/console/account"},
     .run = WriteHandler{limit_connected_app}},
    {.request = "DELETE /api/oauth/connected-apps/{app_id}",
     .name = "disconnectApp",
     .tag = "OAuth",
     .summary = "Disconnect an app: all its tokens for the caller end at once",
     .text = "Withdraws the consent. All access, refresh and session tokens of the app for the "
             "caller stop working.",
     .guards = {session(), account_writes},
     .stores = Stores::nothing,
     .in_path = {&app_in_path},
     .answer = {200, "Message"},
     .errors = {Code::app_not_found},
     .event = {SecurityKind::consent_changed, "withdrawn"},
     .served_by = {"berth account disconnect", "/console/account"},
     .run = WriteHandler{disconnect_app}},
};

}  // namespace

std::span<const Route> connected_apps_routes() { return rows; }

}  // namespace berth::api
