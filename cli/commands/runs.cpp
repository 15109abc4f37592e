// The commands run, runs and crons: commands that a deployment runs in a container of their own.
#include <iostream>

#include "cli/cancel_on_signal.h"
#include "cli/commands/commands.h"
#include "cli/event_stream.h"
#include "cli/words.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

constexpr int longest_run = 86'400;  // seconds

std::string path_of_run(const std::string& deployment, const std::string& run) {
  return deployment + "/runs/" + run;
}

bool is_run_over(const json& run) {
  const std::string status = cell(run, "status");
  return status == "succeeded" || status == "failed" || status == "cancelled";
}

// Prints what the run writes until it is over, and returns the run.
json follow_run(Api& api, const std::string& path) {
  json last;
  follow(api, path + "/logs?follow=true", [&](const Event& event) {
    if (event.name == "status") {
      last = json::parse(event.data, nullptr, false);
      return last.is_object() && !is_run_over(last);
    }
    // As the command wrote it, as all tools that show logs do.
    std::cout << event.data << "\n" << std::flush;
    return bool(std::cout);
  });
  // The stream may have ended with the token, or with the server.
  return last.is_object() && is_run_over(last) ? last : api.get(path).at("run");
}

// Ends the program as the run has ended: with the exit code of its command, if there is one.
void end_like(const json& run) {
  if (cell(run, "status") == "succeeded") return;
  const json code = run.value("exit_code", json());
  if (code.is_number_integer() && code != 0) throw ExitWith{code.get<int>()};
  if (cell(run, "status") == "cancelled") throw ExitWith{exit_interrupted};
  if (!is_run_over(run))
    throw Failure(Exit::unavailable, "the run goes on, but its output can't be followed any more",
                  "`berth runs log` shows it.");
  const std::string message = run.value("message", json()).is_string() ? run.at("message") : "";
  throw Failure(
      Exit::failed,
      "the command failed: " + cell(run, "reason") + (message.empty() ? "" : ": " + message), "",
      cell(run, "reason"));
}

struct RunFlags {
  std::string deployment;
  std::string process;
  int timeout = 0;
  bool detach = false;
  std::vector<std::string> words;
};

void run_command(Run& run, const RunFlags& flags) {
  Api& api = run.api();
  const std::string deployment = deployment_path(api, flags.deployment);
  json order = {{"command", flags.words}};
  if (!flags.process.empty()) order["process"] = flags.process;
  if (flags.timeout > 0) order["timeout_seconds"] = flags.timeout;
  if (flags.detach) {
    const json answer = api.post(deployment + "/runs", order);
    run.out().done(answer, cell(answer.at("run"), "id"));
    return;
  }
  json ended;
  {
    CancelOnSignal cancel(run, "run");
    const json answer = api.post(deployment + "/runs", order);
    const std::string path = path_of_run(deployment, answer.at("run").at("id").get<std::string>());
    cancel.set_path(path);
    ended = follow_run(api, path);
  }
  end_like(ended);
}

// The id of the run: the deployment's newest one if none was named.
std::string id_of_run(Api& api, const std::string& deployment, const std::string& id) {
  if (!id.empty()) return id;
  const json page = api.get(deployment + "/runs?page_size=1");
  if (page.at("runs").empty())
    throw Failure(Exit::not_found, "the deployment has no runs",
                  "`berth run DEPLOYMENT -- COMMAND` makes one.");
  return page.at("runs").front().at("id");
}

void show_run_log(Run& run, const std::string& path, bool follows) {
  if (follows) {
    follow_run(run.api(), path);
    return;
  }
  print_text(run.api(), path + "/logs");
}

CLI::Option* add_run_id(CLI::App& command, std::string& id) {
  return command.add_option("RUN", id, "Id of the run")->check([](const std::string& text) {
    return is_uuid(text) ? "" : text + " isn't the id of a run";
  });
}

struct NamedRun {
  std::string deployment;
  std::string id;
  bool follows = false;
};

// A table shows the command as one text.
json with_command(json runs) {
  for (json& each : runs) {
    std::string words;
    for (const json& word : each.at("command"))
      words += (words.empty() ? "" : " ") + word.get<std::string>();
    each["words"] = words;
  }
  return runs;
}

void add_runs_group(CLI::App& root, Run& run) {
  CLI::App* group = add_group(root, "runs", "Commands that deployments have run, and their output");
  const auto named = std::make_shared<NamedRun>();
  CLI::App* list =
      add_command(*group, "list", "List a deployment's runs: its commands, releases and crons",
                  "berth runs list hello", [&run, named] {
                    const json all = run.api().all(
                        deployment_path(run.api(), named->deployment, "/runs"), "runs");
                    run.out().list(all, with_command(all.at("runs")),
                                   {{"ID", "id"},
                                    {"KIND", "kind"},
                                    {"NAME", "name"},
                                    {"STATUS", "status"},
                                    {"EXIT", "exit_code"},
                                    {"ASKED FOR", "inserted_at"},
                                    {"COMMAND", "words"}});
                  });
  add_deployment(*list, named->deployment);
  CLI::App* get = add_command(
      *group, "get", "Show a run; the newest one if none is named",
      "berth runs get hello 01936f5e-7c1a-7000-8000-0000000000c1", [&run, named] {
        const std::string deployment = deployment_path(run.api(), named->deployment);
        const json one =
            run.api()
                .get(path_of_run(deployment, id_of_run(run.api(), deployment, named->id)))
                .at("run");
        run.out().object({{"run", one}}, with_command(json::array({one})).front(),
                         {{"Id", "id"},
                          {"Kind", "kind"},
                          {"Cron", "name"},
                          {"Minute", "scheduled_at"},
                          {"Process", "process"},
                          {"Command", "words"},
                          {"Image", "image"},
                          {"Status", "status"},
                          {"Exit code", "exit_code"},
                          {"Reason", "reason"},
                          {"Message", "message"},
                          {"Timeout", "timeout_seconds"},
                          {"Asked for", "inserted_at"},
                          {"Began", "started_at"},
                          {"Ended", "finished_at"}});
      });
  add_deployment(*get, named->deployment);
  add_run_id(*get, named->id);
  CLI::App* log = add_command(
      *group, "log", "Show the output of a run; of the newest one if none is named",
      "berth runs log hello --follow", [&run, named] {
        const std::string deployment = deployment_path(run.api(), named->deployment);
        show_run_log(run, path_of_run(deployment, id_of_run(run.api(), deployment, named->id)),
                     named->follows);
      });
  log->alias("logs");
  add_deployment(*log, named->deployment);
  add_run_id(*log, named->id);
  log->add_flag("--follow,-f", named->follows, "Keep printing until the run is over");
  CLI::App* cancel = add_command(
      *group, "cancel", "Cancel a run that isn't over",
      "berth runs cancel hello 01936f5e-7c1a-7000-8000-0000000000c1", [&run, named] {
        const std::string deployment = deployment_path(run.api(), named->deployment);
        const json answer =
            run.api().call({.method = "DELETE", .path = path_of_run(deployment, named->id)});
        run.out().done(answer, "The run is " + cell(answer.at("run"), "status") + ".");
      });
  add_deployment(*cancel, named->deployment);
  add_run_id(*cancel, named->id)->required();
}

void add_crons_group(CLI::App& root, Run& run) {
  CLI::App* group = add_group(root, "crons", "Commands that deployments run at set times");
  const auto named = std::make_shared<NamedRun>();
  CLI::App* list = add_command(
      *group, "list", "List a deployment's crons, with when they run next",
      "berth crons list hello", [&run, named] {
        const json all = run.api().get(deployment_path(run.api(), named->deployment, "/crons"));
        run.out().list(all, all.at("crons"),
                       {{"NAME", "name"},
                        {"SCHEDULE", "schedule"},
                        {"ZONE", "zone"},
                        {"NEXT", "next_at"},
                        {"LAST", "last.status"},
                        {"EXIT", "last.exit_code"},
                        {"LAST RUN", "last.run_id"},
                        {"SKIPPED", "skipped"}});
      });
  add_deployment(*list, named->deployment);
  CLI::App* start = add_command(
      *group, "run", "Run a cron's command now", "berth crons run hello nightly", [&run, named] {
        const json answer = run.api().post(deployment_path(
            run.api(), named->deployment, "/crons/" + percent_encode(named->id) + "/runs"));
        run.out().done(answer, "It runs as " + cell(answer.at("run"), "id") + "; `berth runs log " +
                                   named->deployment + "` shows its output.");
      });
  add_deployment(*start, named->deployment);
  start->add_option("CRON", named->id, "Name of the cron")->required();
}

}  // namespace

void add_run_commands(CLI::App& root, Run& run) {
  const auto flags = std::make_shared<RunFlags>();
  CLI::App* command = add_command(
      root, "run",
      "Run a command with a deployment's image and variables, in a container of its own",
      "berth run hello -- ./migrate up", [&run, flags] { run_command(run, *flags); });
  add_deployment(*command, flags->deployment);
  may_be_empty(*command
                    ->add_option("WORDS", flags->words,
                                 "The command and its arguments, after --; its exit code becomes "
                                 "that of this program")
                    ->required());
  command->add_option("--process", flags->process,
                      "Process whose memory and CPU the container has; web by default");
  command
      ->add_option("--timeout", flags->timeout,
                   "Number of seconds after which the command is ended; 3600 by default")
      ->check(CLI::Range(1, longest_run));
  command->add_flag("--detach,-d", flags->detach, "Print the id of the run, and don't wait for it");
  add_runs_group(root, run);
  add_crons_group(root, run);
}

}  // namespace berth::cli
