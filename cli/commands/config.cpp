// Commands about the client itself: configuration, completion, manual.
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/completion.h"
#include "cli/manual.h"

namespace berth::cli {
namespace {

void add_config(CLI::App& root, Run& run) {
  CLI::App* config = add_group(root, "config", "Defaults in config.yaml");
  const auto key = std::make_shared<std::string>();
  const auto value = std::make_shared<std::string>();
  CLI::App* set = add_command(*config, "set", "Set a default; an empty value takes it out",
                              [key, value] { set_config(places().config_file, *key, *value); });
  set->add_option("KEY", *key, "Which")
      ->required()
      ->check(CLI::IsMember({"server", "output", "app", "browser"}));
  set->add_option("VALUE", *value, "What");
  add_command(*config, "show", "What counts now, and where it lies", [&run] {
    const Settings& settings = run.settings();
    const json body = {{"server", settings.server},
                       {"output", name_of(settings.format)},
                       {"app", settings.app},
                       {"browser", settings.opens_browser},
                       {"config_file", settings.places.config_file.string()},
                       {"credentials_file", run.store().file().string()}};
    run.out().object(body, body,
                     {{"Server", "server"},
                      {"Output", "output"},
                      {"App", "app"},
                      {"Opens a browser", "browser"},
                      {"Configuration", "config_file"},
                      {"Credentials", "credentials_file"}});
  });
}

}  // namespace

void add_config_commands(CLI::App& root, Run& run) {
  add_config(root, run);
  const auto shell = std::make_shared<std::string>();
  add_command(root, "completion", "Print a script that completes commands and flags",
              [&root, shell] { std::cout << completion_script(root, *shell); })
      ->add_option("SHELL", *shell, "For which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  add_command(root, "man", "Print the manual page: berth man | man -l -",
              [&root] { std::cout << manual_page(root); });
}

}  // namespace berth::cli
