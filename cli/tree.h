#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

// The commands and their flags as plain data, from which completion and manual are made.
namespace berth::cli {

struct FlagInfo {
  std::vector<std::string> names;  // "--output", "-o"; for a positional argument just its name
  bool positional = false;
  bool required = false;
  bool takes_value = false;
  bool takes_many = false;  // a positional argument that may be given several times
  bool takes_file = false;
  std::vector<std::string> choices;  // the allowed values; empty: any
  std::string fallback;              // the default; may be empty
  std::string names_of;              // what completion looks up: "deployments"; may be empty
  std::string description;
};

// What stands in a command's footer before its example.
constexpr const char* example_start = "Example:\n  ";

struct CommandInfo {
  std::string path;                  // "berth deploy create"
  std::string name;                  // "create"
  std::vector<std::string> aliases;  // "rm"
  std::string description;
  std::string example;  // a command line; empty for a group
  std::vector<FlagInfo> flags;
  std::vector<FlagInfo> inherited;  // from the groups above, without the root's
  std::vector<CommandInfo> commands;
};

// Returns the program's commands, without those that are hidden from people.
CommandInfo tree_of(const CLI::App& root);
// The command and all commands below it, in the order of --help.
std::vector<const CommandInfo*> flattened(const CommandInfo& root);

}  // namespace berth::cli
