#include "cli/procfile.h"

#include <algorithm>
#include <sstream>

#include "cli/failure.h"
#include "controller/base/processes.h"
#include "controller/base/text.h"

namespace berth::cli {
namespace {

constexpr const char* release_line = "release";

json shell_command(const std::string& command) {
  return json::array({"/bin/sh", "-c", "exec " + command});
}

// `exec` takes a simple command alone; one that needs the shell stays under it.
json command_of(const std::string& text) {
  const bool needs_shell = text.find_first_of(";&|(){}<>") != std::string::npos;
  return needs_shell ? json::array({"/bin/sh", "-c", text}) : shell_command(text);
}

}  // namespace

json order_in_procfile(const std::string& text, const std::string& source) {
  json order = json::object();
  json processes = json::object();
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = source + ", line " + std::to_string(++number);
    if (line.ends_with('\r')) line.pop_back();
    line = std::string(trimmed(line));
    if (line.empty() || line.starts_with('#')) continue;
    const size_t colon = std::min(line.find(':'), line.size());
    const std::string name{trimmed(std::string_view(line).substr(0, colon))};
    const std::string command{
        trimmed(std::string_view(line).substr(std::min(colon + 1, line.size())))};
    if (command.empty())
      throw Failure(Exit::usage, where + ": there is no command",
                    "A line has the form `worker: ./worker --verbose`.");
    if (!deployments::is_process_name(name))
      throw Failure(Exit::usage,
                    where + ": \"" + name +
                        "\" can't be the name of a process: it has to have 1 to 20 lower-case "
                        "letters, digits and hyphens, with a letter at its beginning");
    const bool is_release = name == release_line;
    if (is_release ? order.contains("release_command") : processes.contains(name))
      throw Failure(Exit::usage, where + ": " + name + " occurs twice");
    if (is_release)
      order["release_command"] = command_of(command);
    else
      processes[name] = {{"command", command_of(command)}};
  }
  if (processes.size() > deployments::max_processes)
    throw Failure(Exit::usage, source + " has more than " +
                                   std::to_string(deployments::max_processes) + " processes");
  // web alone ends the processes that an earlier Procfile had; otherwise they would run, and cost
  // points, for ever.
  if (processes.size() == 1 && processes.contains(deployments::web_process)) {
    order["command"] = processes.at(deployments::web_process).at("command");
    order["processes"] = json::object();
  } else if (!processes.empty()) {
    order["processes"] = processes;
  }
  return order;
}

}  // namespace berth::cli
