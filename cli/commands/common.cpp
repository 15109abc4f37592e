#include <cctype>

#include "cli/commands/commands.h"

namespace berth::cli {

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& description,
                      std::function<void()> action) {
  CLI::App* command = parent.add_subcommand(name, description);
  command->callback(std::move(action));
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

std::string deployment_id(Api& api, const std::string& name_or_id) {
  if (is_uuid(name_or_id)) return name_or_id;
  const json all = api.all("/api/deploy/apps", "deployments");
  for (const json& row : all.at("deployments"))
    if (row.at("subdomain") == name_or_id) return row.at("id");
  throw Failure(Exit::not_found, "there is no deployment " + name_or_id,
                "`berth deploy list` shows the current app's deployments.");
}

std::string deployment_path(Api& api, const std::string& name_or_id, const std::string& behind) {
  return "/api/deploy/apps/" + deployment_id(api, name_or_id) + behind;
}

std::string app_id(Run& run, const std::string& app) {
  if (is_uuid(app)) return app;
  Account account = run.store().load(run.settings().server);
  const std::string& wanted = app.empty() ? run.settings().app : app;
  if (const StoredApp* stored = account.find(wanted)) return stored->id;
  if (wanted.empty())
    throw Failure(Exit::usage, "there is no current app",
                  "Name one; `berth apps list` shows your apps.");
  const json mine = run.api().all("/api/oauth/my-apps", "apps", As::account);
  for (const json& entry : mine.at("apps"))
    if (entry.at("client_id") == wanted || entry.at("app_name") == wanted) return entry.at("id");
  throw Failure(Exit::not_found, "you have no app " + wanted, "`berth apps list` shows your apps.");
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

std::string joined(const std::vector<std::string>& texts, const std::string& between) {
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : between) + text;
  return result;
}

}  // namespace berth::cli
