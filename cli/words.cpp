#include "cli/words.h"

#include <CLI/CLI.hpp>

#include "cli/failure.h"
#include "cli/suggest.h"

namespace berth::cli {
namespace {

constexpr const char* blank_characters = " \t\r\n";
constexpr const char* empty_is_fine = "may be empty";  // the name of a validator
constexpr size_t length_of_short_flag = 2;             // the length of "-o"

// The option of the command, or of a group above it, that is called so; null if there is none.
const CLI::Option* option_of(const CLI::App* command, const std::string& name) {
  for (; command != nullptr; command = command->get_parent())
    if (const CLI::Option* option = command->get_option_no_throw(name)) return option;
  return nullptr;
}

bool takes_value(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() > 0;
}

CLI::App* command_in(CLI::App& group, const std::string& name) {
  for (CLI::App* command : group.get_subcommands([](const CLI::App*) { return true; }))
    if (command->check_name(name)) return command;
  return nullptr;
}

// The command that the words of these groups mean without naming it: `berth runs hello` lists the
// runs of hello. A word that is nearly a command is taken for a slip.
CLI::App* implied_in(CLI::App& group, const std::string& word) {
  if (group.get_name() != "runs" && group.get_name() != "crons") return nullptr;
  std::vector<std::string> names;
  for (const CLI::App* command : group.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
    for (const std::string& alias : command->get_aliases()) names.push_back(alias);
  }
  return did_you_mean_command(word, names).empty() ? command_in(group, "list") : nullptr;
}

void descend(Named& named, CLI::App* into) {
  for (CLI::App* command : named.command->get_subcommands([](const CLI::App*) { return true; }))
    if (command != into) command->disabled();
  named.command = into;
  named.path += " " + into->get_name();
}

bool refuses_empty(const CLI::Option& option) {
  try {
    const_cast<CLI::Option&>(option).get_validator(empty_is_fine);
    return false;
  } catch (const CLI::OptionNotFound&) {
    return option.get_items_expected_max() > 0;
  }
}

}  // namespace

Line prepared(CLI::App& program, const std::vector<std::string>& words) {
  Line line = {.words = {}, .named = {&program, program.get_name()}};
  bool may_name_command = true;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      line.words.insert(line.words.end(), words.begin() + std::ptrdiff_t(i), words.end());
      break;
    }
    const bool is_flag = word.size() > 1 && word.starts_with('-');
    if (!is_flag) {
      CLI::App* next = may_name_command ? command_in(*line.named.command, word) : nullptr;
      if (next == nullptr && may_name_command) {
        if (CLI::App* implied = implied_in(*line.named.command, word)) {
          descend(line.named, implied);
          line.words.push_back(implied->get_name());
        }
      }
      may_name_command = next != nullptr;
      if (next != nullptr) descend(line.named, next);
      line.words.push_back(word);
      continue;
    }
    const bool is_long = word.starts_with("--");
    const size_t equals = word.find('=');
    const bool has_value =
        equals != std::string::npos && (is_long || equals == length_of_short_flag);
    const std::string name = has_value ? word.substr(0, equals) : word;
    const bool wants_value = takes_value(option_of(line.named.command, name));
    if (!has_value || !wants_value) line.words.push_back(word);
    if (has_value && wants_value) {
      line.words.push_back(name);
      line.words.push_back(word.substr(equals + 1));
    } else if (wants_value && i + 1 < words.size()) {
      line.words.push_back(words[++i]);
    }
  }
  return line;
}

void may_be_empty(CLI::Option& option) {
  option.check(CLI::Validator([](std::string&) { return std::string(); }, "", empty_is_fine));
}

namespace {

void refuse_empty_below(CLI::App& command, const std::string& path) {
  for (CLI::Option* option : command.get_options()) {
    if (!refuses_empty(*option)) continue;
    const std::string name = option->get_name();
    // Before all other checks, whose messages would be about something else.
    option->transform(CLI::Validator(
        [path, name](std::string& value) {
          if (value.find_first_not_of(blank_characters) == std::string::npos)
            throw Failure(Exit::usage, path + ": " + name + " is empty",
                          "If it is a shell variable, that isn't set.");
          return std::string();
        },
        ""));
  }
  for (CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
    refuse_empty_below(*below, path + " " + below->get_name());
}

}  // namespace

void refuse_empty(CLI::App& program) { refuse_empty_below(program, program.get_name()); }

}  // namespace berth::cli
