#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

// The commands and their flags as plain data: what completion and manual are made of.
namespace berth::cli {

struct FlagInfo {
  std::vector<std::string> names;  // "--output", "-o"; of a positional argument its name alone
  bool positional = false;
  bool required = false;
  bool takes_value = false;
  bool takes_file = false;
  std::vector<std::string> choices;  // the values that there are; empty: any
  std::string fallback;              // the default; may be empty
  std::string description;
};

struct CommandInfo {
  std::string path;  // "berth deploy create"
  std::string name;  // "create"
  std::string description;
  std::vector<FlagInfo> flags;
  std::vector<FlagInfo> inherited;  // of the groups above, without the root's
  std::vector<CommandInfo> commands;
};

CommandInfo tree_of(const CLI::App& root);
// The command and all below it, in the order of --help.
std::vector<const CommandInfo*> flattened(const CommandInfo& root);

}  // namespace berth::cli
