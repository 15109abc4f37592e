// Commands about the client itself: configuration, completion, manual.
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/completion.h"
#include "cli/manual.h"
#include "cli/words.h"

namespace berth::cli {
namespace {

void add_config(CLI::App& root, Run& run) {
  CLI::App* config = add_group(root, "config", "The client's defaults, stored in config.yaml");
  const auto key = std::make_shared<std::string>();
  const auto value = std::make_shared<std::string>();
  CLI::App* set = add_command(*config, "set", "Set a default; an empty value removes it",
                              "berth config set server https://berth.example.org",
                              [key, value] { set_config(places().config_file, *key, *value); });
  set->add_option("KEY", *key, "Default to set")
      ->required()
      ->check(CLI::IsMember({"server", "output", "app", "browser"}));
  may_be_empty(*set->add_option("VALUE", *value, "Value of the default"));
  add_command(*config, "show", "Show the current defaults, and where they are stored",
              "berth config show", [&run] {
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
  add_command(root, "completion", "Print a script that completes commands, flags and names",
              ". <(berth completion bash)",
              [&root, shell] { std::cout << completion_script(root, *shell); })
      ->add_option("SHELL", *shell, "Shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  const auto markdown = std::make_shared<bool>();
  add_command(root, "man", "Print the manual page", "berth man | man -l -", [&root, markdown] {
    std::cout << (*markdown ? manual_markdown(root) : manual_page(root));
  })->add_flag("--markdown", *markdown, "Print it as Markdown");
}

}  // namespace berth::cli
