// The commands help and version, which other programs have besides the flags --help and --version.
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/suggest.h"
#include "controller/base/version.h"

namespace berth::cli {
namespace {

// Prints what `berth COMMAND --help` prints. `words` are the names of commands, each a sub-command
// of the one before.
void help(CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* command = &root;
  std::string above;
  for (const std::string& word : words) {
    const CLI::App* found = nullptr;
    std::vector<std::string> names;
    for (const CLI::App* below : command->get_subcommands([](const CLI::App*) { return true; })) {
      if (below->check_name(word)) found = below;
      if (!below->get_group().empty()) names.push_back(below->get_name());
    }
    const std::string path = above + (above.empty() ? "" : " ") + command->get_name();
    if (found == nullptr)
      throw Failure(Exit::usage,
                    path + " has no command " + word + did_you_mean_command(word, names),
                    "`" + path + " --help` shows them.");
    above = path;
    command = found;
  }
  // CLI::App::help() would describe the command that was called, which is `help` itself.
  const std::string path = above + (above.empty() ? "" : " ") + command->get_name();
  std::cout << command->get_formatter()->make_help(command, path, CLI::AppFormatMode::Normal);
}

}  // namespace

std::string version_line() {
  return "berth " + std::string(version) + " (commit " + build_commit() + ")";
}

void add_help_commands(CLI::App& root, Run& run) {
  const auto words = std::make_shared<std::vector<std::string>>();
  add_command(root, "help", "Explain a command, as its flag --help does",
              "berth help deploy create", [&root, words] { help(root, *words); })
      ->add_option("COMMAND", *words, "Names of the command; all commands if left out");
  add_command(root, "version", "Print the version of this client", "berth version -o json", [&run] {
    run.out().done({{"version", version}, {"commit", build_commit()}}, version_line());
  });
}

}  // namespace berth::cli
