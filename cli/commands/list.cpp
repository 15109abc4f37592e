// The command list, which can go on watching.
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/watch.h"

namespace berth::cli {
namespace {

const std::vector<Column> columns = {
    {"NAME", "name"}, {"STATUS", "status"},         {"REASON", "reason"},
    {"TIER", "tier"}, {"IMAGE", "container_image"}, {"URL", "url"}};

void list(Run& run, bool watches) {
  const auto look = [&run] { return run.api().all("/api/deploy/apps", "deployments"); };
  if (!watches) {
    const json body = look();
    run.out().list(body, body.at("deployments"), columns);
    return;
  }
  watch(run.settings().format, look,
        [](const json& body) { return Output::table(body.at("deployments"), columns); });
}

}  // namespace

void add_list_command(CLI::App& parent, Run& run) {
  const auto watches = std::make_shared<bool>(false);
  CLI::App* command =
      add_command(parent, "list", "List the deployments of the current app",
                  path_in(parent) + "list --watch", [&run, watches] { list(run, *watches); });
  command->alias("ps");
  command->add_flag("--watch,-w", *watches, "Show the list again when it changes, until Ctrl-C");
}

}  // namespace berth::cli
