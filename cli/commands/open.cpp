// The command open, which shows a deployment's page.
#include "cli/commands/commands.h"
#include "cli/loopback.h"
#include "cli/terminal.h"

namespace berth::cli {
namespace {

void open_page(Run& run, const std::string& name, bool print_only) {
  const json body = run.api().get(deployment_path(run.api(), name));
  const std::string url = body.at("url");
  const bool opened =
      !print_only && run.settings().opens_browser && is_interactive() && open_in_browser(url);
  run.out().done({{"url", url}, {"opened", opened}}, url);
}

}  // namespace

void add_open_command(CLI::App& parent, Run& run) {
  const auto page = std::make_shared<std::string>();
  const auto print_only = std::make_shared<bool>(false);
  CLI::App* open = add_command(parent, "open", "Open a deployment's page in a browser",
                               path_in(parent) + "open hello",
                               [&run, page, print_only] { open_page(run, *page, *print_only); });
  add_deployment(*open, *page);
  open->add_flag("--print", *print_only, "Only print the address");
}

}  // namespace berth::cli
