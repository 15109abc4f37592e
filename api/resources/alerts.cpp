// Alerts: what happened to an account's apps, told to people by mail or in a chat.
#include "controller/domain/webhooks/alerts.h"

#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/apps/members.h"

namespace berth::api {
namespace {

json encode(const alerts::Alert& alert) {
  return {{"id", alert.id},
          {"name", alert.name},
          {"app_id", or_null(alert.app_id)},
          {"events", alert.events},
          {"channel", alert.channel},
          {"target", text_or_null(alert.target)},
          {"waiting", alert.waiting},
          {"last_sent_at", or_null(alert.last_sent_at)},
          {"last_error", or_null(alert.last_error)},
          {"failing_since", or_null(alert.failing_since)},
          {"disabled_at", or_null(alert.disabled_at)},
          {"created_at", to_iso8601(alert.created_at)},
          {"updated_at", to_iso8601(alert.updated_at)}};
}

Reply envelope(int status, const alerts::Alert& alert) {
  return {.status = status, .body = {{"alert", encode(alert)}}};
}

webhooks::Schemes schemes(const Services& services) {
  return services.environment == Environment::production ? webhooks::Schemes::only_https
                                                         : webhooks::Schemes::http_too;
}

alerts::Alert alert_of(db::Tx& tx, const Call& call) {
  return alerts::get(tx, call.user->id, call.id());
}

// Throws app_not_found and forbidden.
std::optional<std::string> decode_app(db::Tx& tx, const Call& call) {
  const auto id = text_or_nothing(call.body, "app_id");
  if (id) apps::require_member(tx, call.user->id, *id, *call.route->guards.access.role);
  return id;
}

// To be called after a change of an alert, for the app that it was about and the one that it is
// about. One about no app is about all that the account owns.
void note_wishes(db::Tx& tx, const Call& call,
                 std::initializer_list<std::optional<std::string>> app_ids) {
  apps::note_spend_wishes(tx, call.user->id);
  for (const auto& id : app_ids) {
    const auto app = id ? apps::find(tx, *id) : std::nullopt;
    if (app && app->owner_id != call.user->id) apps::note_spend_wishes(tx, app->owner_id);
  }
}

alerts::Target decode_target(const json& target) {
  const auto text = [&](const char* field) { return text_or_nothing(target, field).value_or(""); };
  return {
      .url = text("url"), .bot_token = text("bot_token"), .chat_id = text("chat_id"), .secret = {}};
}

Reply list_alerts(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("alerts", alerts::list(tx, call.user->id, call.page()),
                              [](const alerts::Alert& alert) { return encode(alert); })};
}

Reply create_alert(db::Tx& tx, const Call& call, const Services& services) {
  const json& body = call.body;
  const auto channel = parse_enum<alerts::Channel>(body.at("channel").get<std::string>());
  alerts::NewAlert wanted = {.name = body.value("name", std::string()),
                             .app_id = decode_app(tx, call),
                             .channel = channel.value(),
                             .target = decode_target(body.value("target", json::object())),
                             .events = body.at("events")};
  if (wanted.name.empty()) wanted.name = body.at("channel");
  const auto made =
      alerts::create(tx, call.user->id, wanted, schemes(services), services.keys.data);
  note_wishes(tx, call, {made.alert.app_id});
  Reply reply = envelope(201, made.alert);
  reply.body["alert"]["secret"] = or_null(made.secret);
  return reply;
}

Reply change_alert(db::Tx& tx, const Call& call, const Services& services) {
  const json& body = call.body;
  alerts::Change change = {
      .name = text_or_nothing(body, "name"), .app_id = {}, .target = {}, .events = {}};
  if (body.contains("app_id")) change.app_id = decode_app(tx, call);
  if (const auto target = body.find("target"); target != body.end())
    change.target = decode_target(*target);
  if (const auto events = body.find("events"); events != body.end())
    change.events = events->get<std::vector<std::string>>();
  const alerts::Alert before = alert_of(tx, call);
  const alerts::Alert changed =
      alerts::change(tx, before, change, schemes(services), services.keys.data);
  note_wishes(tx, call, {before.app_id, changed.app_id});
  return envelope(200, changed);
}

Reply delete_alert(db::Tx& tx, const Call& call, const Services&) {
  const alerts::Alert alert = alert_of(tx, call);
  alerts::remove(tx, alert);
  note_wishes(tx, call, {alert.app_id});
  return {.body = {{"message", "the alert was deleted"}, {"id", alert.id}}};
}

Reply test_alert(db::Tx& tx, const Call& call, const Services&) {
  return envelope(202, alerts::test(tx, alert_of(tx, call)));
}

constexpr Placeholder alert_in_path = {"AlertId", "The id of one of the caller's alerts.",
                                       "01936f5e-7c1a-7000-8000-00000000000a"};

constexpr Route rows[] = {
    {.request = "GET /api/operator/alerts",
     .name = "listAlerts",
     .tag = "Alerts",
     .summary = "List the account's alerts",
     .text = "Lists the caller's alerts, oldest first: what they tell, where to, and whether the "
             "messages arrive. URLs and tokens aren't shown.",
     .guards = {person(), account_reads},
     .paged = true,
     .answer = {200, "AlertList"},
     .served_by = {"berth alerts list", "/console/alerts"},
     .run = ReadHandler{list_alerts}},
    {.request = "POST /api/operator/alerts",
     .name = "createAlert",
     .tag = "Alerts",
     .summary = "Create an alert: events of an app, or of all, by mail or in a chat",
     .text = "Makes berth tell people of these events of one of the caller's apps, or of all of "
             "them: by mail to the account's address, in Discord, Slack or Telegram, or by a "
             "webhook, whose secret is shown only in this answer. What comes together is one "
             "message.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::apps,
     .body = {"CreateAlertRequest"},
     .answer = {201, "CreatedAlert"},
     .errors = {Code::app_not_found, Code::forbidden, Code::invalid_state},
     .event = {SecurityKind::app_changed, "alert_created"},
     .served_by = {"berth alerts create", "/console/alerts"},
     .run = WriteHandler{create_alert}},
    {.request = "PATCH /api/operator/alerts/{id}",
     .name = "changeAlert",
     .tag = "Alerts",
     .summary = "Change an alert; one that was disabled begins again",
     .text = "Changes the fields that are sent. An alert that was disabled, because its messages "
             "didn't arrive, begins again. The channel stays what it is.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::apps,
     .in_path = {&alert_in_path},
     .body = {"ChangeAlertRequest"},
     .answer = {200, "AlertEnvelope"},
     .errors = {Code::alert_not_found, Code::app_not_found, Code::forbidden, Code::invalid_state},
     .event = {SecurityKind::app_changed, "alert_changed"},
     .served_by = {"berth alerts update", "/console/alerts"},
     .run = WriteHandler{change_alert}},
    {.request = "DELETE /api/operator/alerts/{id}",
     .name = "deleteAlert",
     .tag = "Alerts",
     .summary = "Delete an alert",
     .text = "Deletes the alert. What it hasn't told yet isn't told any more.",
     .guards = {person(), account_writes},
     .stores = Stores::nothing,
     .in_path = {&alert_in_path},
     .answer = {200, "DeletedAlert"},
     .errors = {Code::alert_not_found},
     .event = {SecurityKind::app_changed, "alert_deleted"},
     .served_by = {"berth alerts delete", "/console/alerts"},
     .run = WriteHandler{delete_alert}},
    {.request = "POST /api/operator/alerts/{id}/test",
     .name = "testAlert",
     .tag = "Alerts",
     .summary = "Send a test message; the alert then shows whether it arrived",
     .text = "Sends a message soon. The alert's last_sent_at or last_error then says whether it "
             "arrived.",
     .guards = {person(), account_writes},
     .stores = Stores::apps,
     .in_path = {&alert_in_path},
     .answer = {202, "AlertEnvelope"},
     .errors = {Code::alert_not_found, Code::invalid_state},
     .served_by = {"berth alerts test", "/console/alerts"},
     .run = WriteHandler{test_alert}},
};

}  // namespace

std::span<const Route> alerts_routes() { return rows; }

}  // namespace berth::api
