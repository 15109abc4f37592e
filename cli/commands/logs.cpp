// The commands logs, of one deployment or several, and deploy events.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <mutex>
#include <thread>

#include "cli/colour.h"
#include "cli/commands/commands.h"
#include "cli/event_stream.h"
#include "cli/login.h"

namespace berth::cli {
namespace {

constexpr int most_lines = 1'000'000;  // more than any cluster keeps; the server has its own limit
constexpr size_t most_followed = 16;   // each is a thread and a connection

struct LogFlags {
  std::vector<std::string> names;
  bool all = false;
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  int tail = -1;
  std::string since;
  std::string instance;
  std::string process;
};

struct Source {
  std::string name;  // the name that is shown before each line
  std::string id;
};

std::string query_of(const LogFlags& flags) {
  std::vector<std::pair<std::string, std::string>> query;
  if (flags.follow) query.emplace_back("follow", "true");
  if (flags.previous) query.emplace_back("previous", "true");
  if (flags.tail >= 0) query.emplace_back("tail", std::to_string(flags.tail));
  if (!flags.since.empty()) query.emplace_back("since", flags.since);
  if (!flags.instance.empty()) query.emplace_back("instance", flags.instance);
  if (!flags.process.empty()) query.emplace_back("process", flags.process);
  return query.empty() ? "" : "?" + encoded(query);
}

std::vector<Source> sources_of(Run& run, const LogFlags& flags) {
  if (flags.all == !flags.names.empty())
    throw Failure(Exit::usage, "no deployment was named", "Name deployments, or pass --all.");
  if (!flags.instance.empty() && (flags.all || flags.names.size() > 1))
    throw Failure(Exit::usage, "--instance needs one deployment",
                  "Name the deployment that the container belongs to.");
  std::vector<Source> sources;
  if (flags.all) {
    const json list = run.api().all("/api/deploy/apps", "deployments");
    for (const json& row : list.at("deployments"))
      sources.push_back({.name = row.at("subdomain"), .id = row.at("id")});
  }
  for (const std::string& name : flags.names)
    sources.push_back({.name = name, .id = deployment_id(run.api(), name)});
  return sources;
}

// A line that a container has written.
struct LogLine {
  std::string time;  // when, in RFC 3339; empty if nobody asked for it
  std::string text;
};

// Prints whole lines: each with its time, if it has one, and with its deployment's name, if there
// are several deployments; or as a JSON object with these fields. Thread-safe.
class Lines {
 public:
  Lines(const std::vector<Source>& sources, Format format, bool has_names)
      : format_(format), has_names_(has_names), coloured_(shows_colours(STDOUT_FILENO)) {
    for (const Source& source : sources) width_ = std::max(width_, source.name.size());
  }
  // Returns whether it could be printed.
  bool print(const Source& source, const LogLine& line) {
    constexpr auto replace = json::error_handler_t::replace;
    json object = {{"deployment", source.name}, {"line", line.text}};
    if (!line.time.empty()) object["time"] = line.time;
    const std::scoped_lock lock(mutex_);
    if (format_ == Format::as_json)
      std::cout << object.dump(-1, ' ', false, replace) << "\n" << std::flush;
    else if (format_ == Format::as_yaml)
      std::cout << "---\n" << to_yaml(object) << std::flush;
    else
      std::cout << (has_names_ ? name_of(source) : "") << line.time
                << (line.time.empty() ? "" : " ") << line.text << "\n"
                << std::flush;
    return bool(std::cout);
  }

 private:
  std::string name_of(const Source& source) const {
    return painted(source.name, coloured_ ? Colour::cyan : Colour::none) +
           std::string(width_ - source.name.size(), ' ') + " | ";
  }

  std::mutex mutex_;
  Format format_;
  bool has_names_;
  size_t width_ = 0;
  bool coloured_;
};

// The server says that it can't read the log at the moment, and goes on trying.
bool is_problem(const Source& source, const Event& event) {
  if (event.name != "problem") return false;
  const json data = json::parse(event.data, nullptr, false);
  say(source.name + ": " + (data.is_object() ? data.value("message", "") : event.data));
  return true;
}

std::string path_of(const Source& source, const LogFlags& flags) {
  return "/api/deploy/apps/" + source.id + "/container-logs" + query_of(flags);
}

// Prints the bytes as the container wrote them, as all tools that show logs do.
void bytes_of(Api& api, const Source& source, const LogFlags& flags) {
  print_text(api, path_of(source, flags));
}

// The id of an event gives the position of its line: the time at which it was written, a slash, and
// more that the server needs.
LogLine line_of(const Event& event, bool with_time) {
  return {.time = with_time ? event.id.substr(0, event.id.find('/')) : "", .text = event.data};
}

void lines_of(Api& api, const Source& source, const LogFlags& flags, Lines& lines) {
  const bool with_time = flags.timestamps;
  if (flags.follow) {
    follow(api, path_of(source, flags), [&](const Event& event) {
      return is_problem(source, event) || lines.print(source, line_of(event, with_time));
    });
    return;
  }
  // Only the event stream has the times of the lines.
  EventParser parser;
  bool goes_on = true;
  api.stream({.path = path_of(source, flags),
              .accept = "text/event-stream",
              .headers = {},
              .sink =
                  [&](std::string_view piece) {
                    parser.feed(piece, [&](const Event& event) {
                      goes_on = goes_on && (is_problem(source, event) ||
                                            lines.print(source, line_of(event, with_time)));
                    });
                    return goes_on;
                  },
              .has_end = true});
}

// Follows all of them at once, each with a connection of its own. One that fails is reported and
// doesn't end the others; throws the first failure when all have ended.
void follow_several(Run& run, const std::vector<Source>& sources, const LogFlags& flags) {
  if (sources.size() > most_followed)
    throw Failure(Exit::usage, "at most " + std::to_string(most_followed) +
                                   " deployments can be followed at once");
  Lines lines(sources, run.settings().format, flags.all || sources.size() > 1);
  run.api().login().access_token();  // renewed once, and not by each of them
  const Settings& settings = run.settings();
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::jthread> threads;
  threads.reserve(sources.size());
  for (const Source& source : sources)
    threads.emplace_back([&] {
      try {
        CredentialStore store(settings.places.state_dir);
        Api api(settings, store);
        lines_of(api, source, flags, lines);
      } catch (const std::exception& error) {
        const std::scoped_lock lock(mutex);
        say(source.name + ": " + error.what());
        if (!first) first = std::current_exception();
      }
    });
  for (std::jthread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

void logs(Run& run, LogFlags flags) {
  const std::vector<Source> sources = sources_of(run, flags);
  const Format format = run.settings().format;
  const bool has_names = flags.all || sources.size() > 1;
  // Programs get the times in any case.
  flags.timestamps = flags.timestamps || format != Format::table;
  if (flags.follow && sources.size() > 1) {
    follow_several(run, sources, flags);
    return;
  }
  Lines lines(sources, format, has_names);
  for (const Source& source : sources) {
    if (has_names || flags.follow || flags.timestamps)
      lines_of(run.api(), source, flags, lines);
    else
      bytes_of(run.api(), source, flags);
  }
}

// One line about an event: when, what and why.
std::string sentence_of(const Event& event, const json& data) {
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
      std::cout << sentence_of(event, data) << std::endl;
    return bool(std::cout) && !(until_running && cell(data, "status") == "running");
  });
}

}  // namespace

void add_logs_command(CLI::App& parent, Run& run) {
  const auto flags = std::make_shared<LogFlags>();
  CLI::App* command = add_command(parent, "logs", "Show what the containers of deployments write",
                                  path_in(parent) + "logs shop worker --follow",
                                  [&run, flags] { logs(run, *flags); });
  command->add_option(
      "DEPLOYMENT", flags->names,
      "Names or ids of deployments; if there are several, each line begins with the name");
  command->add_flag("--all", flags->all, "Show the logs of all deployments of the current app");
  CLI::Option* follows = command->add_flag("--follow,-f", flags->follow, "Keep printing new lines");
  command->add_option("--tail,-n", flags->tail, "Print at most this many of the last lines of each")
      ->check(CLI::Range(0, most_lines));
  command->add_option("--since", flags->since,
                      "Print only lines since this time, or of the last 10m or 1h30m");
  command->add_option("--instance", flags->instance,
                      "Print only the output of this container, of those that `berth deploy "
                      "instances` lists");
  command->add_option("--process", flags->process,
                      "Print only the output of this process' containers, such as worker");
  command->add_flag("--timestamps,-t", flags->timestamps,
                    "Print the time of each line; -o json and yaml always have it");
  command
      ->add_flag("--previous,-p", flags->previous,
                 "Print the output of the run before, for example after a crash")
      ->excludes(follows);
}

void add_events_command(CLI::App& deploy, Run& run) {
  const auto name = std::make_shared<std::string>();
  const auto until_running = std::make_shared<bool>(false);
  CLI::App* changes =
      add_command(deploy, "events", "Follow the changes of a deployment's status",
                  "berth deploy events hello --until-running",
                  [&run, name, until_running] { events(run, *name, *until_running); });
  add_deployment(*changes, *name);
  changes->add_flag("--until-running", *until_running, "End once the deployment is running");
}

}  // namespace berth::cli
