#include "cli/program.h"

#include <iostream>

#include "cli/commands/commands.h"
#include "controller/base/version.h"

namespace berth::cli {
namespace {

void report(const Failure& failure) {
  say("berth: " + std::string(failure.what()));
  for (const std::string& line : failure.details) say("  " + line);
  if (!failure.advice.empty()) say(failure.advice);
}

// If a group was called without one of its commands, lists them and what was taken for a command.
bool lacks_command(const CLI::App& program) {
  const CLI::App* group = &program;
  std::string above;
  while (!group->get_subcommands().empty()) {
    above += group->get_name() + " ";
    group = group->get_subcommands().front();
  }
  const std::string path = above + group->get_name();
  const auto commands = group->get_subcommands([](const CLI::App*) { return true; });
  if (commands.empty()) return false;
  const std::vector<std::string> words = program.remaining(true);
  if (words.empty()) {
    std::cerr << group->help(above.substr(0, above.find_last_not_of(' ') + 1));
    return true;
  }
  std::string names;
  for (const CLI::App* command : commands)
    names += (names.empty() ? "" : ", ") + command->get_name();
  report(Failure(Exit::usage,
                 path + " has no " + (words[0].starts_with('-') ? "flag " : "command ") + words[0],
                 "There are " + names + "; `" + path + " --help` shows more."));
  return true;
}

int parse_and_run(CLI::App& program, int argc, char** argv) {
  try {
    program.parse(argc, argv);
    std::cout.flush();
    if (!std::cout) throw Failure(Exit::failed, "the result can't be written to stdout");
    return int(Exit::ok);
  } catch (const CLI::ParseError& error) {
    // --help and --version arrive here too, with the code 0.
    if (error.get_exit_code() != 0 && lacks_command(program)) return int(Exit::usage);
    return program.exit(error) == 0 ? int(Exit::ok) : int(Exit::usage);
  } catch (const Failure& failure) {
    report(failure);
    return int(failure.exit);
  }
}

}  // namespace

std::unique_ptr<CLI::App> make_program(Run& run) {
  auto program =
      std::make_unique<CLI::App>("the client of berth, a container-hosting platform", "berth");
  program->set_version_flag("--version",
                            "berth " + std::string(version) + " (commit " + build_commit() + ")",
                            "Print the version");
  program->fallthrough();
  program->footer(
      "Every command also accepts -o, --server, --app and --client-id; see `berth --help`.");
  program->require_subcommand(1);
  program->add_option("--output,-o", run.flags.output, "Format of the result")
      ->check(CLI::IsMember({"table", "json", "yaml"}));
  program->add_option("--server", run.flags.server, "Address of the server");
  program->add_option("--app", run.flags.app, "App to act for: name, id or client id");
  program->add_option("--client-id", run.flags.client_id,
                      "App to act as, by client credentials; its secret is in BERTH_CLIENT_SECRET");
  add_login_commands(*program, run);
  add_app_commands(*program, run);
  add_scope_commands(*program, run);
  add_tier_commands(*program, run);
  add_deploy_commands(*program, run);
  add_campaign_commands(*program, run);
  add_admin_commands(*program, run);
  add_config_commands(*program, run);
  return program;
}

int run_program(int argc, char** argv) {
  Run run;
  try {
    return parse_and_run(*make_program(run), argc, argv);
  } catch (const json::exception& error) {
    // The answer lacks something that the API promises, so it comes from another program or
    // version.
    report(Failure(Exit::failed, "the server's answer can't be read", error.what()));
  } catch (const std::exception& error) {
    report(Failure(Exit::failed, error.what()));
  }
  return int(Exit::failed);
}

}  // namespace berth::cli
