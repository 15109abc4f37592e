// The commands builds, about images that the server has built from source.
#include "cli/commands/commands.h"
#include "cli/commands/up_source.h"
#include "cli/event_stream.h"

namespace berth::cli {
namespace {

void add_build(CLI::App& command, std::string& id) {
  command.add_option("BUILD", id, "Id of the build")
      ->required()
      ->check([](const std::string& text) {
        return is_uuid(text) ? "" : text + " isn't the id of a build";
      });
}

void show_log(Run& run, const std::string& id, bool follows) {
  if (follows) {
    follow_build(run.api(), id, LogTo::output);
    return;
  }
  print_text(run.api(), build_path(id) + "/logs");
}

}  // namespace

void add_build_commands(CLI::App& root, Run& run) {
  CLI::App* group = add_group(root, "builds", "Images that the server has built from source");
  const auto name = std::make_shared<std::string>();
  CLI::App* list = add_command(
      *group, "list", "List the current app's builds", "berth builds list", [&run, name] {
        const std::string query = name->empty() ? "" : "?" + encoded({{"name", *name}});
        const json all = run.api().all(builds_path + query, "builds");
        run.out().list(all, all.at("builds"),
                       {{"ID", "id"},
                        {"NAME", "name"},
                        {"STATUS", "status"},
                        {"REASON", "reason"},
                        {"POINTS", "points"},
                        {"ASKED FOR", "inserted_at"}});
      });
  list->add_option("--name", *name, "Only builds for this deployment's name");
  const auto id = std::make_shared<std::string>();
  CLI::App* get = add_command(*group, "get", "Show a build",
                              "berth builds get 01936f5e-7c1a-7000-8000-0000000000b1", [&run, id] {
                                const json build = run.api().get(build_path(*id)).at("build");
                                run.out().object({{"build", build}}, build,
                                                 {{"Id", "id"},
                                                  {"Name", "name"},
                                                  {"Status", "status"},
                                                  {"Reason", "reason"},
                                                  {"Message", "message"},
                                                  {"Image", "image"},
                                                  {"Removed", "image_removed_at"},
                                                  {"Source bytes", "source_bytes"},
                                                  {"Image bytes", "image_bytes"},
                                                  {"Points", "points"},
                                                  {"Asked for", "inserted_at"},
                                                  {"Began", "started_at"},
                                                  {"Ended", "ended_at"}});
                              });
  add_build(*get, *id);
  const auto follows = std::make_shared<bool>(false);
  CLI::App* logs = add_command(*group, "logs", "Show the log of a build",
                               "berth builds logs 01936f5e-7c1a-7000-8000-0000000000b1 --follow",
                               [&run, id, follows] { show_log(run, *id, *follows); });
  add_build(*logs, *id);
  logs->add_flag("--follow,-f", *follows, "Keep printing until the build has ended");
  CLI::App* cancel = add_command(
      *group, "cancel", "Cancel a build that is waiting or running",
      "berth builds cancel 01936f5e-7c1a-7000-8000-0000000000b1", [&run, id] {
        const json answer = run.api().call({.method = "DELETE", .path = build_path(*id)});
        run.out().done(
            answer, "The build is " + std::string(cell(answer.at("build"), "status") == "building"
                                                      ? "being cancelled."
                                                      : cell(answer.at("build"), "status") + "."));
      });
  add_build(*cancel, *id);
}

}  // namespace berth::cli
