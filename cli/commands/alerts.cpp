// The alerts of an account: which events are told to people, and where.
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "controller/base/text.h"

namespace berth::cli {
namespace {

const std::string alerts_path = "/api/operator/alerts";

struct AlertFlags {
  std::string alert;
  std::string channel;
  std::string name;
  std::vector<std::string> events;
  std::string app;
  bool all_apps = false;
  std::string url;
  std::string chat;
  bool from_stdin = false;
  bool yes = false;
};
using SharedAlertFlags = std::shared_ptr<AlertFlags>;

// An alert is named by its id or, if only one is called that, by its name.
json find_alert(Run& run, const std::string& alert) {
  std::vector<json> found;
  std::vector<std::string> names;
  const json all = run.api().all(alerts_path, "alerts", As::account);
  for (const json& one : all.at("alerts")) {
    if (one.at("id") == alert || one.at("name") == alert) found.push_back(one);
    names.push_back(one.at("name"));
  }
  if (found.size() == 1) return found[0];
  throw Failure(found.empty() ? Exit::not_found : Exit::usage,
                found.empty() ? "there is no alert " + alert + did_you_mean(alert, names)
                              : "several alerts are called " + alert + ": name one by its id",
                "`berth alerts list` shows them.");
}

std::string path_of(const json& alert) {
  return alerts_path + "/" + alert.at("id").get<std::string>();
}

// `channel` decides what is read from stdin.
json target_of(const AlertFlags& flags, const std::string& channel) {
  json target = json::object();
  if (!flags.url.empty()) target["url"] = flags.url;
  if (!flags.chat.empty()) target["chat_id"] = flags.chat;
  if (!flags.from_stdin) return target;
  const bool is_token = channel == "telegram";
  target[is_token ? "bot_token" : "url"] =
      secret_from_stdin(is_token ? "the bot's token" : "the URL");
  return target;
}

json body_of(Run& run, const AlertFlags& flags, const std::string& channel) {
  json body = json::object();
  if (!flags.name.empty()) body["name"] = flags.name;
  if (!flags.events.empty()) body["events"] = split(flags.events);
  if (!flags.app.empty()) body["app_id"] = app_id(run, flags.app);
  if (flags.all_apps) body["app_id"] = nullptr;
  if (json target = target_of(flags, channel); !target.empty()) body["target"] = std::move(target);
  return body;
}

// The secret is printed because the server gives it just this once.
void create(Run& run, const AlertFlags& flags) {
  json body = body_of(run, flags, flags.channel);
  body["channel"] = flags.channel;
  const json answer = run.api().post(alerts_path, body, As::account);
  const json& alert = answer.at("alert");
  std::string sentence =
      "The alert " + cell(alert, "name") + " tells " + cell(alert, "events") + ".";
  if (alert.at("secret").is_string())
    sentence += " Its secret, which is shown only now: " + cell(alert, "secret");
  run.out().done(answer, sentence);
}

void update(Run& run, const AlertFlags& flags) {
  const json alert = find_alert(run, flags.alert);
  const json body = body_of(run, flags, alert.at("channel"));
  if (body.empty())
    throw Failure(Exit::usage, "nothing to change",
                  "Pass --name, --events, --for, --for-all, --url, --chat or --target-stdin.");
  const json answer =
      run.api().call({.method = "PATCH", .path = path_of(alert), .as = As::account, .body = body});
  run.out().done(answer, "The alert " + cell(answer, "alert.name") + " tells " +
                             cell(answer, "alert.events") + ".");
}

void remove(Run& run, const AlertFlags& flags) {
  const json alert = find_alert(run, flags.alert);
  confirm_name("This deletes the alert " + flags.alert + " for good.", flags.alert, flags.yes);
  const json answer =
      run.api().call({.method = "DELETE", .path = path_of(alert), .as = As::account});
  run.out().done(answer, "The alert is deleted.");
}

void test(Run& run, const AlertFlags& flags) {
  const json alert = find_alert(run, flags.alert);
  const json answer = run.api().post(path_of(alert) + "/test", nullptr, As::account);
  run.out().done(answer, "A test is on its way; `berth alerts list` shows whether it arrived.");
}

void add_target(CLI::App& command, AlertFlags& flags) {
  command.add_option("--url", flags.url,
                     "URL of the incoming webhook of Discord or Slack, or of your own receiver");
  command.add_option("--chat", flags.chat, "Chat of Telegram: its number, or @ and its name");
  command.add_flag("--target-stdin", flags.from_stdin,
                   "Read the URL, or the token of Telegram's bot, from stdin, so that it isn't in "
                   "the shell's history");
}

CLI::App* add_named(CLI::App& group, const SharedAlertFlags& flags, const char* name,
                    const char* description, const char* example, std::function<void()> action) {
  CLI::App* command = add_command(group, name, description, example, std::move(action));
  command->add_option("ALERT", flags->alert, "Id or name of the alert")->required();
  return command;
}

void add_creation(CLI::App& group, Run& run) {
  const SharedAlertFlags made = std::make_shared<AlertFlags>();
  CLI::App* creation = add_command(group, "create", "Tell people of events, by mail or in a chat",
                                   "berth alerts create discord --target-stdin --events "
                                   "deployment.failed,deployment.crashed",
                                   [&run, made] { create(run, *made); });
  creation
      ->add_option("CHANNEL", made->channel,
                   "mail (to your address), discord, slack, telegram or "
                   "webhook (to your own receiver)")
      ->required()
      ->check(CLI::IsMember({"mail", "discord", "slack", "telegram", "webhook"}));
  creation->add_option("--events", made->events, help_of_events("tell", alert_events()))
      ->required()
      ->allow_extra_args(false);
  creation->add_option("--name", made->name, "What you call it; by default like the channel");
  creation->add_option("--for", made->app, "The app whose events are told; by default all apps");
  add_target(*creation, *made);
}

void add_changes(CLI::App& group, Run& run) {
  const SharedAlertFlags changed = std::make_shared<AlertFlags>();
  CLI::App* change =
      add_named(group, changed, "update", "Change an alert; one that was disabled begins again",
                "berth alerts update discord --events deployment.crashed",
                [&run, changed] { update(run, *changed); });
  change->add_option("--name", changed->name, "The new name");
  change->add_option("--events", changed->events, help_of_events("tell", alert_events()))
      ->allow_extra_args(false);
  CLI::Option* app = change->add_option("--for", changed->app, "The app whose events are told");
  change->add_flag("--for-all", changed->all_apps, "Tell the events of all apps")->excludes(app);
  add_target(*change, *changed);

  const SharedAlertFlags gone = std::make_shared<AlertFlags>();
  add_named(group, gone, "delete", "Delete an alert", "berth alerts delete discord", [&run, gone] {
    remove(run, *gone);
  })->add_flag("--yes,-y", gone->yes, "Don't ask for the id or name");

  const SharedAlertFlags tried = std::make_shared<AlertFlags>();
  add_named(group, tried, "test", "Send a test message", "berth alerts test discord",
            [&run, tried] { test(run, *tried); });
}

}  // namespace

const std::vector<std::string>& alert_events() {
  static const std::vector<std::string> events = {"deployment.failed",
                                                  "deployment.crashed",
                                                  "deployment.run_failed",
                                                  "certificate.failed",
                                                  "billing.warning",
                                                  "billing.failed",
                                                  "billing.reactivated",
                                                  "balance.low",
                                                  "budget.reached",
                                                  "charge.settled",
                                                  "points.spent",
                                                  "points.refunded",
                                                  "payout",
                                                  "campaign.exhausted",
                                                  "campaign.ended",
                                                  "scope_request.decided"};
  return events;
}

void add_alert_commands(CLI::App& root, Run& run) {
  CLI::App* group = add_group(root, "alerts", "Mail and chats that tell people of events");
  add_command(*group, "list", "List your alerts, and whether their messages arrive",
              "berth alerts list", [&run] {
                const json body = run.api().all(alerts_path, "alerts", As::account);
                run.out().list(body, body.at("alerts"),
                               {{"ID", "id"},
                                {"NAME", "name"},
                                {"CHANNEL", "channel"},
                                {"TARGET", "target"},
                                {"APP", "app_id"},
                                {"EVENTS", "events"},
                                {"SENT", "last_sent_at"},
                                {"ERROR", "last_error"},
                                {"DISABLED", "disabled_at"}});
              });
  add_creation(*group, run);
  add_changes(*group, run);
}

}  // namespace berth::cli
