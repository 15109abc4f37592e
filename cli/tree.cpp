#include "cli/tree.h"

#include <CLI/CLI.hpp>
#include <map>

namespace berth::cli {
namespace {

// CLI11 puts the values of a membership check into the type's name: "TEXT:{table,json,yaml}".
std::vector<std::string> choices_in(const std::string& type_name) {
  const size_t open = type_name.find('{');
  const size_t close = type_name.find('}', open);
  std::vector<std::string> choices;
  if (open == std::string::npos || close == std::string::npos) return choices;
  std::string choice;
  for (const char c : type_name.substr(open + 1, close - open - 1) + ",") {
    if (c != ',') {
      choice += c;
    } else {
      choices.push_back(choice);
      choice.clear();
    }
  }
  return choices;
}

// What completion looks up for an argument or flag of this name; see names.cpp of the commands.
std::string names_of(const std::string& argument) {
  static const std::map<std::string, std::string, std::less<>> kinds = {
      {"DEPLOYMENT", "deployments"},
      {"--deployment", "deployments"},
      {"APP", "apps"},
      {"CAMPAIGN", "campaigns"},
      {"TIER", "tiers"},
      {"WEBHOOK", "webhooks"},
      {"ALERT", "alerts"},
      {"REQUEST", "requests"},
      {"SESSION", "sessions"},
      {"DEVICE", "devices"},
      {"MEMBER", "members"},
      {"PERSONAL-TOKEN", "personal-tokens"},
      {"TRUST", "trusts"},
      {"--app", "apps"},
      {"--tier", "tiers"},
      {"--for", "apps"},
      {"CONNECTED-APP", "connected"},
      {"KEY", "variables"},
      {"VARIABLE", "settings"},
      {"APP-KEY", "app-variables"},
      {"APP-VARIABLE", "app-settings"},
      {"--unset-env", "variables"},
      {"--to", "rollouts"},
      {"SCOPES", "scopes"},
      {"SCOPE", "scopes"},
      {"--scopes", "scopes"},
      {"--scope", "scopes"},
      {"--events", "events"},
      {"COMMAND", "commands"},
  };
  const auto found = kinds.find(argument);
  return found == kinds.end() ? "" : found->second;
}

std::string example_in(const std::string& footer) {
  const size_t start = footer.find(example_start);
  if (start == std::string::npos) return "";
  const size_t line = start + std::string_view(example_start).size();
  return footer.substr(line, footer.find('\n', line) - line);
}

FlagInfo flag_of(const CLI::Option& option) {
  FlagInfo flag;
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  flag.positional = flag.names.empty();
  if (flag.positional) flag.names.push_back(option.get_name());
  const std::string type = option.get_type_name();
  flag.required = option.get_required();
  flag.takes_value = option.get_items_expected_max() > 0;
  flag.takes_many = flag.positional && option.get_items_expected_max() > 1;
  flag.takes_file = type.find("FILE") != std::string::npos || flag.names[0] == "--file" ||
                    flag.names[0] == "--env-file";
  flag.choices = choices_in(type);
  flag.fallback = option.get_default_str();
  flag.description = option.get_description();
  if (flag.choices.empty()) flag.names_of = names_of(flag.names[0]);
  return flag;
}

CommandInfo command_of(const CLI::App& app, const std::string& parent,
                       const std::vector<FlagInfo>& inherited) {
  CommandInfo command = {.path = parent + app.get_name(),
                         .name = app.get_name(),
                         .aliases = app.get_aliases(),
                         .description = app.get_description(),
                         .example = {},
                         .flags = {},
                         .inherited = inherited,
                         .commands = {}};
  if (!parent.empty()) command.example = example_in(app.get_footer());
  for (const CLI::Option* option : app.get_options()) command.flags.push_back(flag_of(*option));
  std::vector<FlagInfo> handed_on = inherited;
  if (!parent.empty())
    for (const FlagInfo& flag : command.flags)
      if (!flag.positional && flag.names[0] != "--help") handed_on.push_back(flag);
  for (const CLI::App* below :
       app.get_subcommands([](const CLI::App* any) { return !any->get_group().empty(); }))
    command.commands.push_back(command_of(*below, command.path + " ", handed_on));
  return command;
}

void collect(const CommandInfo& command, std::vector<const CommandInfo*>& into) {
  into.push_back(&command);
  for (const CommandInfo& below : command.commands) collect(below, into);
}

}  // namespace

CommandInfo tree_of(const CLI::App& root) { return command_of(root, "", {}); }

std::vector<const CommandInfo*> flattened(const CommandInfo& root) {
  std::vector<const CommandInfo*> result;
  collect(root, result);
  return result;
}

}  // namespace berth::cli
