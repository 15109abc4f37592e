#include "cli/tree.h"

#include <CLI/CLI.hpp>

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

FlagInfo flag_of(const CLI::Option& option) {
  FlagInfo flag;
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  flag.positional = flag.names.empty();
  if (flag.positional) flag.names.push_back(option.get_name());
  const std::string type = option.get_type_name();
  flag.required = option.get_required();
  flag.takes_value = option.get_items_expected_max() > 0;
  flag.takes_file = type.find("FILE") != std::string::npos || flag.names[0] == "--file" ||
                    flag.names[0] == "--env-file";
  flag.choices = choices_in(type);
  flag.fallback = option.get_default_str();
  flag.description = option.get_description();
  return flag;
}

CommandInfo command_of(const CLI::App& app, const std::string& parent,
                       const std::vector<FlagInfo>& inherited) {
  CommandInfo command = {.path = parent + app.get_name(),
                         .name = app.get_name(),
                         .description = app.get_description(),
                         .flags = {},
                         .inherited = inherited,
                         .commands = {}};
  for (const CLI::Option* option : app.get_options()) command.flags.push_back(flag_of(*option));
  std::vector<FlagInfo> handed_on = inherited;
  if (!parent.empty())
    for (const FlagInfo& flag : command.flags)
      if (!flag.positional && flag.names[0] != "--help") handed_on.push_back(flag);
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; }))
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
