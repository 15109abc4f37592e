#include <cctype>

#include "cli/commands/commands.h"
#include "cli/env_file.h"
#include "cli/suggest.h"
#include "cli/tree.h"
#include "cli/wait.h"
#include "controller/base/text.h"

namespace berth::cli {

namespace {
constexpr std::int64_t most_points = 9'007'199'254'740'991;  // 2^53-1, as in the API
}  // namespace

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& description,
                      const std::string& example, std::function<void()> action) {
  CLI::App* command = parent.add_subcommand(name, description);
  command->footer(example_start + example + "\n\n" + flags_footer);
  command->callback(std::move(action));
  if (name == "list") command->alias("ls");
  if (name == "delete" || name == "remove") command->alias("rm");
  return command;
}

CLI::App* add_group(CLI::App& parent, const std::string& name, const std::string& description) {
  CLI::App* group = parent.add_subcommand(name, description);
  group->require_subcommand(1);
  return group;
}

bool is_uuid(const std::string& text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0)
      return false;
  }
  return true;
}

std::string path_in(const CLI::App& parent) {
  return parent.get_name() == "deploy" ? "berth deploy " : "berth ";
}

CLI::Option* add_deployment(CLI::App& command, std::string& deployment) {
  return command.add_option("DEPLOYMENT", deployment, "Name or id of the deployment")->required();
}

void add_wait(CLI::App& command, WaitFlags& flags) {
  command.add_flag("--wait,-w", flags.wait, "Wait until the deployment runs, and print each step");
  command.add_option("--timeout", flags.timeout, "Maximum number of seconds to wait")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400));
}

void show_change(Run& run, const json& answer, const WaitFlags& flags,
                 const std::string& sentence) {
  const json& inner = answer.contains("deployment") ? answer.at("deployment") : answer;
  if (!flags.wait) {
    run.out().done(answer, sentence);
    return;
  }
  const std::string id = inner.at("id");
  say_reason(wait_until_running(run.api(), id, std::chrono::seconds(flags.timeout)));
  const json now = run.api().get("/api/deploy/apps/" + id);
  run.out().done(now, now.at("name").get<std::string>() + " is running at " +
                          now.at("url").get<std::string>());
}

std::string check_points(const std::string& text) {
  const auto points = parse_number<std::int64_t>(text);
  return points && *points >= 1 && *points <= most_points
             ? ""
             : "has to be a whole number from 1 to " + std::to_string(most_points) + ", not " +
                   text;
}

std::string deployment_id(Api& api, const std::string& name_or_id) {
  if (is_uuid(name_or_id)) return name_or_id;
  const json& all = api.once("/api/deploy/apps", "deployments");
  for (const json& row : all.at("deployments"))
    if (row.at("subdomain") == name_or_id) return row.at("id");
  throw no_deployment(name_or_id, all.at("deployments"));
}

Failure no_deployment(const std::string& name, const json& deployments) {
  std::vector<std::string> names;
  for (const json& row : deployments) names.push_back(row.at("subdomain"));
  return Failure(Exit::not_found, "there is no deployment " + name + did_you_mean(name, names),
                 "`berth deploy list` shows the current app's deployments.");
}

std::string deployment_path(Api& api, const std::string& name_or_id, const std::string& behind) {
  return "/api/deploy/apps/" + deployment_id(api, name_or_id) + behind;
}

json variables_from(const std::string& file, const std::vector<std::string>& texts) {
  json variables = json::object();
  if (!file.empty())
    variables = parse_env_file(contents_of(file), file == "-" ? "standard input" : file, say);
  for (const std::string& text : texts) {
    const auto [key, value] = parse_env(text);
    variables[key] = value;
  }
  return variables;
}

namespace {

// Those of the apps that have this client id or, if there is none, this name.
std::vector<json> called(const json& apps, const std::string& wanted) {
  std::vector<json> found;
  for (const json& app : apps) {
    if (app.at("client_id") == wanted) return {app};
    if (app.at("app_name") == wanted) found.push_back(app);
  }
  return found;
}

std::string only_one(const std::vector<json>& found, const json& apps, const std::string& wanted) {
  if (found.size() == 1) return found[0].at("id");
  if (found.empty()) {
    std::vector<std::string> names;
    for (const json& app : apps) names.push_back(app.at("app_name"));
    throw Failure(Exit::not_found, "you have no app " + wanted + did_you_mean(wanted, names),
                  "`berth apps list` shows your apps.");
  }
  Failure failure(Exit::usage, "several apps are called " + wanted + ": name one by its id");
  for (const json& app : found)
    failure.details.push_back(cell(app, "id") + ", created " + cell(app, "inserted_at"));
  throw failure;
}

}  // namespace

std::string app_id(Run& run, const std::string& app) {
  if (is_uuid(app)) return app;
  Account account = run.store().load(run.settings().server);
  const std::string& wanted = app.empty() ? run.settings().app : app;
  // The server knows of apps that another machine has made, which may have the same name.
  const auto& token = run.settings().token;
  const bool has_session = token ? token->starts_with("eyJ") : account.session || account.login;
  const bool asks_server = !wanted.empty() && has_session;
  if (asks_server) {
    const json& mine = run.api().once("/api/oauth/my-apps", "apps", As::account);
    return only_one(called(mine.at("apps"), wanted), mine.at("apps"), wanted);
  }
  if (const StoredApp* stored = account.find(wanted)) return stored->id;
  if (wanted.empty())
    throw Failure(Exit::usage, "there is no current app",
                  "Name one; `berth apps list` shows your apps.");
  throw Failure(Exit::not_found, "the app " + wanted + " isn't known here",
                "Log in, or name it by its id.");
}

std::vector<std::string> split(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  for (const std::string& text : texts) {
    std::string piece;
    for (const char c : text + " ") {
      if (c != ',' && c != ' ') {
        piece += c;
      } else if (!piece.empty()) {
        result.push_back(piece);
        piece.clear();
      }
    }
  }
  return result;
}

}  // namespace berth::cli
