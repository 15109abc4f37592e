// The webhooks of an app: where the server sends its events to.
#include "cli/commands/commands.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "controller/base/text.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

struct WebhookFlags {
  std::string webhook;
  std::string url;
  std::vector<std::string> events;
  size_t limit = 50;
  bool yes = false;
};
using SharedWebhookFlags = std::shared_ptr<WebhookFlags>;

std::string hooks_path(Run& run) { return "/api/operator/apps/" + app_id(run, "") + "/webhooks"; }

// A webhook is named by its id or, if only one has it, by its address.
std::string path_of(Run& run, const std::string& webhook) {
  const std::string path = hooks_path(run);
  if (is_uuid(webhook)) return path + "/" + webhook;
  std::vector<std::string> ids, urls;
  const json all = run.api().all(path, "webhooks", As::account);
  for (const json& hook : all.at("webhooks")) {
    if (hook.at("url") == webhook) ids.push_back(hook.at("id"));
    urls.push_back(hook.at("url"));
  }
  if (ids.size() == 1) return path + "/" + ids[0];
  throw Failure(ids.empty() ? Exit::not_found : Exit::usage,
                ids.empty() ? "there is no webhook " + webhook + did_you_mean(webhook, urls)
                            : "several webhooks send to " + webhook + ": name one by its id",
                "`berth webhooks list` shows them.");
}

json body_of(const WebhookFlags& flags) {
  json body = json::object();
  if (!flags.url.empty()) body["url"] = flags.url;
  if (!flags.events.empty()) body["events"] = split(flags.events);
  return body;
}

// The secret is printed because the server gives it just this once, and the client has no use for
// it.
void print_secret(Run& run, const json& answer, const std::string& sentence) {
  run.out().done(
      answer, sentence + " Its secret, which is shown only now: " + cell(answer, "webhook.secret"));
}

void create(Run& run, const WebhookFlags& flags) {
  const json answer = run.api().post(hooks_path(run), body_of(flags), As::account);
  print_secret(run, answer,
               "The webhook " + cell(answer, "webhook.id") + " sends to " + flags.url + ".");
}

void update(Run& run, const WebhookFlags& flags) {
  const json body = body_of(flags);
  if (body.empty()) throw Failure(Exit::usage, "nothing to change", "Pass --url or --events.");
  const json answer = run.api().call(
      {.method = "PATCH", .path = path_of(run, flags.webhook), .as = As::account, .body = body});
  run.out().done(answer, "The webhook sends " + cell(answer, "webhook.events") + " to " +
                             cell(answer, "webhook.url") + ".");
}

void remove(Run& run, const WebhookFlags& flags) {
  const std::string path = path_of(run, flags.webhook);
  confirm_name("This deletes the webhook " + flags.webhook +
                   " for good. Events that weren't delivered yet are dropped.",
               flags.webhook, flags.yes);
  const json answer = run.api().call({.method = "DELETE", .path = path, .as = As::account});
  run.out().done(answer, "The webhook is deleted.");
}

void rotate(Run& run, const WebhookFlags& flags) {
  const std::string path = path_of(run, flags.webhook);
  confirm("Receivers that know only the current secret will refuse all further events. Continue?",
          flags.yes);
  print_secret(run, run.api().post(path + "/rotate-secret", nullptr, As::account),
               "The webhook has a new secret.");
}

const std::vector<Column> delivery_columns = {
    {"WHEN", "created_at"},        {"EVENT", "type"},
    {"STATUS", "status"},          {"ATTEMPTS", "attempts"},
    {"ANSWER", "response_status"}, {"ERROR", "error"}};

CLI::App* add_named(CLI::App& group, const SharedWebhookFlags& flags, const char* name,
                    const char* description, const char* example, std::function<void()> action) {
  CLI::App* command = add_command(group, name, description, example, std::move(action));
  command->add_option("WEBHOOK", flags->webhook, "Id or address of the webhook")->required();
  return command;
}

void add_webhook_changes(CLI::App& group, Run& run) {
  const SharedWebhookFlags made = std::make_shared<WebhookFlags>();
  CLI::App* creation = add_command(
      group, "create", "Send the app's events to an address",
      "berth webhooks create https://example.org/berth --events deployment.status,billing.warning",
      [&run, made] { create(run, *made); });
  creation->add_option("URL", made->url, "Address that the events are sent to, by POST")
      ->required();
  creation->add_option("--events", made->events, help_of_events("send", webhook_events()))
      ->required()
      ->allow_extra_args(false);

  const SharedWebhookFlags changed = std::make_shared<WebhookFlags>();
  CLI::App* change =
      add_named(group, changed, "update", "Change a webhook's address or events",
                "berth webhooks update https://example.org/berth --events deployment.status",
                [&run, changed] { update(run, *changed); });
  change->add_option("--url", changed->url, "The new address");
  change->add_option("--events", changed->events, help_of_events("send", webhook_events()))
      ->allow_extra_args(false);

  const SharedWebhookFlags rotated = std::make_shared<WebhookFlags>();
  add_named(group, rotated, "rotate-secret", "Replace the secret that signs what is sent",
            "berth webhooks rotate-secret https://example.org/berth",
            [&run, rotated] { rotate(run, *rotated); })
      ->add_flag("--yes,-y", rotated->yes, "Don't ask");

  const SharedWebhookFlags gone = std::make_shared<WebhookFlags>();
  add_named(group, gone, "delete", "Delete a webhook",
            "berth webhooks delete https://example.org/berth", [&run, gone] { remove(run, *gone); })
      ->add_flag("--yes,-y", gone->yes, "Don't ask for the id or address");
}

}  // namespace

std::string help_of_events(const std::string& purpose, const std::vector<std::string>& types) {
  return "Events to " + purpose + ": " + joined(types, ", ") + "; separated by commas";
}

const std::vector<std::string>& webhook_events() {
  static const std::vector<std::string> events = {
      "deployment.status",     "deployment.domain",     "billing.warning",    "billing.failed",
      "billing.reactivated",   "scope_request.decided", "campaign.exhausted", "campaign.ended",
      "points.spent",          "points.refunded",       "refund.requested",   "refund.answered",
      "balance.low",           "budget.reached",        "charge.settled",     "payout",
      "deployment.run_failed", "guest.merged"};
  return events;
}

void add_webhook_commands(CLI::App& root, Run& run) {
  CLI::App* group = add_group(root, "webhooks", "Addresses that the app's events are sent to");
  add_command(*group, "list", "List the webhooks of the current app", "berth webhooks list",
              [&run] {
                const json body = run.api().all(hooks_path(run), "webhooks", As::account);
                run.out().list(body, body.at("webhooks"),
                               {{"ID", "id"},
                                {"URL", "url"},
                                {"EVENTS", "events"},
                                {"CREATED", "created_at"},
                                {"ENDED", "ended_at"}});
              });
  add_webhook_changes(*group, run);
  const SharedWebhookFlags tried = std::make_shared<WebhookFlags>();
  add_named(*group, tried, "test", "Send a test event",
            "berth webhooks test https://example.org/berth", [&run, tried] {
              const json answer =
                  run.api().post(path_of(run, tried->webhook) + "/test", nullptr, As::account);
              run.out().done(answer, "A test event is on its way; `berth webhooks deliveries " +
                                         tried->webhook + "` shows the result.");
            });
  const SharedWebhookFlags seen = std::make_shared<WebhookFlags>();
  add_named(*group, seen, "deliveries", "List what was sent, newest first, and the answers",
            "berth webhooks deliveries https://example.org/berth --limit 10",
            [&run, seen] {
              const json body = run.api().all(path_of(run, seen->webhook) + "/deliveries",
                                              "deliveries", As::account, seen->limit);
              run.out().list(body, body.at("deliveries"), delivery_columns);
            })
      ->add_option("--limit", seen->limit, "Maximum number of deliveries")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), most_items));
}

}  // namespace berth::cli
