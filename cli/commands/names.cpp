// The hidden command that the scripts of completion call: names that the server knows.
#include <algorithm>
#include <iostream>

#include "cli/commands/commands.h"

namespace berth::cli {
namespace {

// Somebody has pressed Tab and waits.
constexpr std::chrono::milliseconds longest_completion{2'000};
constexpr const char* first_page = "?page_size=100";

struct Kind {
  std::string path;
  std::string list;
  std::string field;
  As as = As::app;
  std::string behind = {};  // what follows each name
};

// `operand` is the first argument of the command that is completed, if there is one.
Kind kind_of(Run& run, const std::string& name, const std::string& operand) {
  if (name == "variables" || name == "settings")
    return {deployment_path(run.api(), operand, "/env"), "variables", "name", As::app,
            name == "settings" ? "=" : ""};
  if (name == "app-variables" || name == "app-settings")
    return {"/api/deploy/variables", "variables", "name", As::app,
            name == "app-settings" ? "=" : ""};
  if (name == "rollouts") return {deployment_path(run.api(), operand, "/logs"), "logs", "id"};
  if (name == "connected")
    return {"/api/oauth/connected-apps", "connected_apps", "app_name", As::account};
  if (name == "deployments") return {"/api/deploy/apps", "deployments", "subdomain"};
  if (name == "apps") return {"/api/oauth/my-apps", "apps", "app_name", As::account};
  if (name == "campaigns") return {"/api/external/campaigns", "campaigns", "name"};
  if (name == "tiers") return {"/api/deploy/tiers", "tiers", "slug"};
  if (name == "sessions") return {"/api/auth/sessions", "sessions", "id", As::account};
  if (name == "devices") return {"/api/auth/devices", "devices", "id", As::account};
  if (name == "webhooks")
    return {"/api/operator/apps/" + app_id(run, "") + "/webhooks", "webhooks", "url", As::account};
  if (name == "members")
    return {"/api/oauth/my-apps/" + app_id(run, "") + "/members", "members", "username",
            As::account};
  if (name == "trusts")
    return {"/api/oauth/my-apps/" + app_id(run, "") + "/trusts", "trusts", "name", As::account};
  if (name == "personal-tokens") return {"/api/auth/tokens", "tokens", "name", As::account};
  if (name == "alerts") return {"/api/operator/alerts", "alerts", "name", As::account};
  if (name == "requests")
    return run.settings().internal_secret
               ? Kind{"/api/internal/scope-requests", "scope_requests", "id", As::admin}
               : Kind{"/api/oauth/my-apps/" + app_id(run, "") + "/scope-requests", "scope_requests",
                      "id", As::account};
  throw Failure(Exit::usage, "there are no names of " + name);
}

// Returns the names that need no look-up on the server.
std::vector<std::string> words_of(Run& run, const CLI::App& root, const std::string& name) {
  std::vector<std::string> words;
  if (name == "events") {
    words = webhook_events();
    for (const std::string& type : alert_events())
      if (std::ranges::find(words, type) == words.end()) words.push_back(type);
  }
  if (name == "scopes") {
    const json body = run.api().call({.path = "/.well-known/oauth-authorization-server",
                                      .as = As::nobody,
                                      .time = longest_completion,
                                      .patient = false});
    words = body.at("scopes_supported").get<std::vector<std::string>>();
  }
  if (name == "commands")
    for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; }))
      if (!command->get_group().empty()) words.push_back(command->get_name());
  return words;
}

void names(Run& run, const CLI::App& root, const std::string& name, const std::string& operand) {
  const std::vector<std::string> words = words_of(run, root, name);
  for (const std::string& word : words) std::cout << printable(word) << "\n";
  if (!words.empty()) return;
  const Kind kind = kind_of(run, name, operand);
  static const std::vector<std::string> without_pages = {"tiers", "rollouts", "members", "trusts",
                                                         "personal-tokens"};
  const bool has_pages =
      kind.list != "variables" && std::ranges::find(without_pages, name) == without_pages.end();
  const json body = run.api().call({.path = kind.path + (has_pages ? first_page : ""),
                                    .as = kind.as,
                                    .time = longest_completion,
                                    .patient = false});
  for (const json& item : body.at(kind.list))
    std::cout << printable(cell(item, kind.field)) << kind.behind << "\n";
}

}  // namespace

void add_names_command(CLI::App& root, Run& run) {
  const auto kind = std::make_shared<std::string>();
  const auto operand = std::make_shared<std::string>();
  CLI::App* command = add_command(
      root, "__names", "Print the names that completion offers", "berth __names deployments",
      [&run, &root, kind, operand] { names(run, root, *kind, *operand); });
  command->add_option("KIND", *kind, "deployments, apps, campaigns, …")->required();
  command->add_option("OPERAND", *operand, "First argument of the command that is completed");
  command->group("");
}

}  // namespace berth::cli
