// The commands deploy logs and deploy events, which print what arrives bit by bit.
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/event_stream.h"

namespace berth::cli {
namespace {

constexpr int most_lines = 1'000'000;  // more than any cluster keeps; the server has its own limit

struct LogFlags {
  std::string name;
  bool follow = false;
  bool previous = false;
  int tail = -1;
  std::string since;
};

std::string query_of(const LogFlags& flags) {
  std::vector<std::pair<std::string, std::string>> query;
  if (flags.follow) query.emplace_back("follow", "true");
  if (flags.previous) query.emplace_back("previous", "true");
  if (flags.tail >= 0) query.emplace_back("tail", std::to_string(flags.tail));
  if (!flags.since.empty()) query.emplace_back("since", flags.since);
  return query.empty() ? "" : "?" + encoded(query);
}

// Prints the bytes as the container wrote them, as all tools that show logs do.
void logs(Run& run, const LogFlags& flags) {
  const std::string path =
      deployment_path(run.api(), flags.name, "/container-logs" + query_of(flags));
  if (flags.follow) {
    follow(run.api(), path, [](const Event& event) {
      std::cout << event.data << "\n" << std::flush;
      return bool(std::cout);
    });
    return;
  }
  const auto print = [](std::string_view piece) {
    std::cout << piece << std::flush;
    return bool(std::cout);
  };
  run.api().stream(
      {.path = path, .accept = "text/plain", .headers = {}, .sink = print, .has_end = true});
}

// One line about an event: when, what and why.
std::string line_of(const Event& event, const json& data) {
  std::string line;
  for (const char* field : {"at", "inserted_at", "created_at", "time"})
    if (line.empty() && data.contains(field)) line = cell(data, field);
  line += (line.empty() ? "" : "  ") + event.name;
  for (const char* field :
       {"action", "status", "phase", "health_status", "reason", "cause", "message"})
    if (const std::string text = cell(data, field); text != "-" && !text.empty())
      line += "  " + text;
  return printable(line);
}

void events(Run& run, const std::string& name, bool until_running) {
  const Format format = run.settings().format;
  follow(run.api(), deployment_path(run.api(), name, "/events"), [&](const Event& event) {
    json data = json::parse(event.data, nullptr, false);
    if (data.is_discarded()) data = {{"message", event.data}};
    const json whole = {{"id", event.id}, {"event", event.name}, {"data", data}};
    if (format == Format::as_json)
      std::cout << whole.dump() << std::endl;
    else if (format == Format::as_yaml)
      std::cout << "---\n" << to_yaml(whole) << std::flush;
    else
      std::cout << line_of(event, data) << std::endl;
    return bool(std::cout) && !(until_running && cell(data, "status") == "running");
  });
}

}  // namespace

void add_follow_commands(CLI::App& deploy, Run& run) {
  const auto flags = std::make_shared<LogFlags>();
  CLI::App* command = add_command(deploy, "logs", "Show the output of a deployment's container",
                                  [&run, flags] { logs(run, *flags); });
  command->add_option("NAME", flags->name, "Name or id of the deployment")->required();
  CLI::Option* follows = command->add_flag("--follow,-f", flags->follow, "Keep printing new lines");
  command->add_option("--tail", flags->tail, "Print at most this many of the last lines")
      ->check(CLI::Range(0, most_lines));
  command->add_option("--since", flags->since,
                      "Print only lines since this time, or of the last 10m or 2h");
  command
      ->add_flag("--previous,-p", flags->previous,
                 "Print the output of the run before, for example after a crash")
      ->excludes(follows);

  const auto name = std::make_shared<std::string>();
  const auto until_running = std::make_shared<bool>(false);
  CLI::App* changes =
      add_command(deploy, "events", "Follow the changes of a deployment's status",
                  [&run, name, until_running] { events(run, *name, *until_running); });
  changes->add_option("NAME", *name, "Name or id of the deployment")->required();
  changes->add_flag("--until-running", *until_running, "End once the deployment is running");
}

}  // namespace berth::cli
