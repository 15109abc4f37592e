#include "api/resources/shared.h"
#include "api/resources/webhooks/handlers.h"

namespace berth::api {
namespace {

constexpr Errors owned = {Code::app_not_found, Code::forbidden, Code::webhook_not_found};

constexpr Placeholder webhook_in_path = {"WebhookId", "The id of the webhook.",
                                         "01936f5e-7c1a-7000-8000-00000000000a"};

constexpr Route rows[] = {
    {.request = "GET /api/operator/apps/{id}/webhooks",
     .name = "listWebhooks",
     .tag = "Webhooks",
     .summary = "List the app's webhooks",
     .text = "Lists the webhooks of one of the caller's apps, oldest first, without their secrets.",
     .guards = {person(), account_reads},
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
     .guards = {person(), account_writes},
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
     .guards = {person(), account_writes},
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
     .text = "Deletes the webhook. Nothing is sent any more.",
     .guards = {person(), account_writes},
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
             "from now on. The old one signs nothing more.",
     .guards = {person(), account_writes},
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
     .text = "Sends a webhook.test event soon. The list of deliveries says how it went.",
     .guards = {person(), account_writes},
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
     .guards = {person(), account_reads},
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
