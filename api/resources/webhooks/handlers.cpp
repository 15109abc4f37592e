// An app's webhooks, through which its owner is notified over HTTP.
#include "api/resources/webhooks/handlers.h"

#include "api/gate/encode.h"
#include "controller/domain/webhooks/webhooks.h"

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

apps::App app_of(db::Tx& tx, const Call& call) {
  return apps::get_owned(tx, call.user->id, call.id());
}

webhooks::Webhook webhook_of(db::Tx& tx, const Call& call) {
  return webhooks::get(tx, app_of(tx, call).id, call.id("webhook_id"));
}

}  // namespace

Reply list_webhooks(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("webhooks", webhooks::list(tx, app_of(tx, call).id, call.page()),
                              [](const webhooks::Webhook& webhook) { return encode(webhook); })};
}

Reply create_webhook(db::Tx& tx, const Call& call, const Services& services) {
  return with_secret(
      201, webhooks::create(tx, app_of(tx, call).id, call.body.at("url"), call.body.at("events"),
                            schemes(services), services.keys.data));
}

Reply change_webhook(db::Tx& tx, const Call& call, const Services& services) {
  webhooks::Change change = {.url = text_or_nothing(call.body, "url"), .events = {}};
  if (const auto events = call.body.find("events"); events != call.body.end())
    change.events = events->get<std::vector<std::string>>();
  return {.body = {{"webhook", encode(webhooks::change(tx, webhook_of(tx, call), change,
                                                       schemes(services)))}}};
}

Reply rotate_webhook_secret(db::Tx& tx, const Call& call, const Services& services) {
  return with_secret(200, webhooks::rotate_secret(tx, webhook_of(tx, call), services.keys.data));
}

Reply delete_webhook(db::Tx& tx, const Call& call, const Services&) {
  const webhooks::Webhook webhook = webhook_of(tx, call);
  webhooks::remove(tx, webhook);
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

}  // namespace berth::api
