// An app's webhooks, through which its owner is notified over HTTP.
#include "controller/domain/webhooks/webhooks.h"

#include "api/resources/apps.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

json encode(const webhooks::Webhook& webhook) {
  return {{"id", webhook.id},
          {"app_id", webhook.app_id},
          {"url", webhook.url},
          {"events", webhook.events},
          {"created_at", to_iso8601(webhook.created_at)},
          {"updated_at", to_iso8601(webhook.updated_at)},
          {"ended_at", or_null(webhook.ended_at)}};
}

json encode(const webhooks::Delivery& delivery) {
  return {{"id", delivery.id},
          {"event_id", delivery.event_id},
          {"type", delivery.type},
          {"subject", delivery.subject},
          {"status", delivery.state},
          {"attempts", delivery.attempts},
          {"created_at", to_iso8601(delivery.created_at)},
          {"next_attempt_at", or_null(delivery.next_attempt_at)},
          {"last_attempt_at", or_null(delivery.last_attempt_at)},
          {"completed_at", or_null(delivery.done_at)},
          {"response_status", or_null(delivery.response_status)},
          {"error", or_null(delivery.error)}};
}

Reply with_secret(int status, const webhooks::WebhookWithSecret& made) {
  json body = encode(made.webhook);
  body["secret"] = made.secret;
  return {.status = status, .body = {{"webhook", std::move(body)}}};
}

webhooks::Schemes schemes(const Services& services) {
  return services.environment == Environment::production ? webhooks::Schemes::only_https
                                                         : webhooks::Schemes::http_too;
}

apps::App app_of(db::Tx& tx, const Call& call) { return membership_in_path(tx, call, "id").app; }

webhooks::Webhook webhook_of(db::Tx& tx, const Call& call) {
  return webhooks::get(tx, app_of(tx, call).id, call.id("webhook_id"));
}

Reply list_webhooks(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("webhooks", webhooks::list(tx, app_of(tx, call).id, call.page()),
                              [](const webhooks::Webhook& webhook) { return encode(webhook); })};
}

Reply create_webhook(db::Tx& tx, const Call& call, const Services& services) {
  const apps::App app = app_of(tx, call);
  const auto made = webhooks::create(tx, app.id, call.body.at("url"), call.body.at("events"),
                                     schemes(services), services.keys.data);
  apps::note_spend_wishes(tx, app.owner_id);
  return with_secret(201, made);
}

Reply change_webhook(db::Tx& tx, const Call& call, const Services& services) {
  webhooks::Change change = {.url = text_or_nothing(call.body, "url"), .events = {}};
  if (const auto events = call.body.find("events"); events != call.body.end())
    change.events = events->get<std::vector<std::string>>();
  const auto changed = webhooks::change(tx, webhook_of(tx, call), change, schemes(services));
  apps::note_spend_wishes(tx, app_of(tx, call).owner_id);
  return {.body = {{"webhook", encode(changed)}}};
}

Reply rotate_webhook_secret(db::Tx& tx, const Call& call, const Services& services) {
  return with_secret(200, webhooks::rotate_secret(tx, webhook_of(tx, call), services.keys.data));
}

Reply delete_webhook(db::Tx& tx, const Call& call, const Services&) {
  const webhooks::Webhook webhook = webhook_of(tx, call);
  webhooks::remove(tx, webhook);
  apps::note_spend_wishes(tx, app_of(tx, call).owner_id);
  return {.body = {{"message", "the webhook was deleted"}, {"id", webhook.id}}};
}

Reply test_webhook(db::Tx& tx, const Call& call, const Services&) {
  return {.status = 202, .body = {{"delivery", encode(webhooks::test(tx, webhook_of(tx, call)))}}};
}

Reply list_deliveries(db::Tx& tx, const Call& call, const Services&) {
  return {.body =
              encode_page("deliveries", webhooks::deliveries(tx, webhook_of(tx, call), call.page()),
                          [](const webhooks::Delivery& delivery) { return encode(delivery); })};
}

constexpr Errors owned = {Code::app_not_found, Code::forbidden, Code::webhook_not_found};

constexpr Placeholder webhook_in_path = {"WebhookId", "The id of the webhook.",
                                         "01936f5e-7c1a-7000-8000-00000000000a"};

constexpr Route rows[] = {
    {.request = "GET /api/operator/apps/{id}/webhooks",
     .name = "listWebhooks",
     .tag = "Webhooks",
     .summary = "List the app's webhooks",
     .text = "Lists the webhooks of one of the caller's apps, oldest first, without their secrets.",
     .guards = {to_developers(person()), account_reads},
     .in_path = {&own_app_in_path},
     .paged = true,
     .answer = {200, "WebhookList"},
     .errors = {Code::app_not_found, Code::forbidden},
     .served_by = {"berth webhooks list", "/console/apps"},
     .run = ReadHandler{list_webhooks}},
    {.request = "POST /api/operator/apps/{id}/webhooks",
     .name = "createWebhook",
     .tag = "Webhooks",
     .summary = "Create a webhook; its signing secret is shown once",
     .text = "Makes berth post events of these types to the URL; an app has at most ten webhooks. "
             "The secret that signs them is shown only in this answer.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::apps,
     .in_path = {&own_app_in_path},
     .body = {"CreateWebhookRequest"},
     .answer = {201, "CreatedWebhook"},
     .errors = {Code::app_not_found, Code::forbidden, Code::invalid_state},
     .event = {SecurityKind::app_changed, "webhook_created"},
     .served_by = {"berth webhooks create", "/console/apps"},
     .run = WriteHandler{create_webhook}},
    {.request = "PATCH /api/operator/apps/{id}/webhooks/{webhook_id}",
     .name = "changeWebhook",
     .tag = "Webhooks",
     .summary = "Change a webhook's URL or events; waiting deliveries go to the new URL",
     .text = "Changes the fields that are sent. Deliveries that wait go to the new URL; the secret "
             "stays.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::apps,
     .in_path = {&own_app_in_path, &webhook_in_path},
     .body = {"ChangeWebhookRequest"},
     .answer = {200, "WebhookEnvelope"},
     .errors = owned,
     .event = {SecurityKind::app_changed, "webhook_changed"},
     .served_by = {"berth webhooks update", "/console/apps"},
     .run = WriteHandler{change_webhook}},
    {.request = "DELETE /api/operator/apps/{id}/webhooks/{webhook_id}",
     .name = "deleteWebhook",
     .tag = "Webhooks",
     .summary = "Delete a webhook together with its waiting deliveries",
     .text = "Deletes the webhook. Nothing more is sent to it.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::nothing,
     .in_path = {&own_app_in_path, &webhook_in_path},
     .answer = {200, "DeletedWebhook"},
     .errors = owned,
     .event = {SecurityKind::app_changed, "webhook_deleted"},
     .served_by = {"berth webhooks delete", "/console/apps"},
     .run = WriteHandler{delete_webhook}},
    {.request = "POST /api/operator/apps/{id}/webhooks/{webhook_id}/rotate-secret",
     .name = "rotateWebhookSecret",
     .tag = "Webhooks",
     .summary = "Replace the signing secret, which is shown once and also signs waiting deliveries",
     .text = "Creates a new secret, which is shown only in this answer and signs every attempt "
             "from now on. The old one is no longer used.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::apps,
     .in_path = {&own_app_in_path, &webhook_in_path},
     .answer = {200, "CreatedWebhook"},
     .errors = owned,
     .event = {SecurityKind::client_secret_changed, "webhook_rotated"},
     .served_by = {"berth webhooks rotate-secret", "/console/apps"},
     .run = WriteHandler{rotate_webhook_secret}},
    {.request = "POST /api/operator/apps/{id}/webhooks/{webhook_id}/test",
     .name = "testWebhook",
     .tag = "Webhooks",
     .summary = "Send an event of type webhook.test to a webhook; its deliveries show the result",
     .text = "Sends a webhook.test event soon. The list of deliveries shows the result.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::apps,
     .in_path = {&own_app_in_path, &webhook_in_path},
     .answer = {202, "DeliveryEnvelope"},
     .errors = {Code::app_not_found, Code::forbidden, Code::webhook_not_found, Code::invalid_state},
     .served_by = {"berth webhooks test", "/console/apps"},
     .run = WriteHandler{test_webhook}},
    {.request = "GET /api/operator/apps/{id}/webhooks/{webhook_id}/deliveries",
     .name = "listDeliveries",
     .tag = "Webhooks",
     .summary = "List a webhook's deliveries, newest first; they are kept for three days",
     .text = "Lists the deliveries that wait and those of the last three days, with the receiver's "
             "status.",
     .guards = {to_developers(person()), account_reads},
     .in_path = {&own_app_in_path, &webhook_in_path},
     .paged = true,
     .answer = {200, "DeliveryList"},
     .errors = owned,
     .served_by = {"berth webhooks deliveries", "/console/apps"},
     .run = ReadHandler{list_deliveries}},
};

}  // namespace

std::span<const Route> webhooks_routes() { return rows; }

}  // namespace berth::api
