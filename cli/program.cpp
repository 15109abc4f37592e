#include "cli/program.h"

#include <algorithm>
#include <iostream>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/suggest.h"
#include "controller/base/text.h"
#include "controller/base/version.h"

namespace berth::cli {
namespace {

// The form in which errors are printed. It is looked for here because an error may come up before
// the flags are parsed, and as their values can be wrong, a form that isn't known counts as a
// table.
Format form_of_errors(int argc, char** argv) {
  std::optional<std::string> name = variable("BERTH_OUTPUT");
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if ((words[i] == "-o" || words[i] == "--output") && i + 1 < words.size()) name = words[i + 1];
    for (const std::string_view flag : {"-o", "--output="})
      if (words[i].starts_with(flag) && words[i].size() > flag.size())
        name = words[i].substr(flag.size());
  }
  try {
    return parse_format(name ? *name : load_config(places().config_file).output.value_or("table"));
  } catch (const Failure&) {
    return Format::table;
  }
}

// The command that the arguments name, as far as they name one.
struct Named {
  const CLI::App* command;
  std::string path;  // "berth deploy create"
};

Named named_in(const CLI::App& program) {
  Named named = {&program, program.get_name()};
  while (!named.command->get_subcommands().empty()) {
    named.command = named.command->get_subcommands().front();
    named.path += " " + named.command->get_name();
  }
  return named;
}

std::vector<std::string> commands_of(const CLI::App& group) {
  std::vector<std::string> names;
  for (const CLI::App* command : group.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent())
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// The first word before the first command, which somebody may have meant as a command; a later word
// may be one all the same, as `list` in `berth deplyo list`. Empty if there is none.
std::string not_a_command(const CLI::App& program, const std::vector<std::string>& words) {
  const std::vector<std::string> unknown = program.remaining(true);
  const auto named = program.get_subcommands();
  for (const std::string& word : words) {
    if (!named.empty() && named.front()->get_name() == word) return "";
    if (!word.starts_with('-') && std::ranges::find(unknown, word) != unknown.end()) return word;
  }
  return "";
}

Failure no_command(const std::string& path, const std::string& word,
                   const std::vector<std::string>& names) {
  return Failure(Exit::usage, path + " has no command " + word + did_you_mean(word, names),
                 "There are " + joined(names, ", ") + "; `" + path + " --help` shows more.");
}

// What is wrong with the command line, in the words of somebody who knows the commands.
Failure usage_error(const CLI::App& program, const CLI::ParseError& error,
                    const std::vector<std::string>& words) {
  if (const std::string word = not_a_command(program, words); !word.empty())
    return no_command(program.get_name(), word, commands_of(program));
  const auto [command, path] = named_in(program);
  const std::vector<std::string> names = commands_of(*command);
  const std::string help = "`" + path + " --help` shows more.";
  for (const std::string& word : program.remaining(true)) {
    const bool is_flag = word.starts_with('-');
    // A missing argument is told rather than a word that isn't one.
    if (!is_flag && names.empty() && !dynamic_cast<const CLI::ExtrasError*>(&error)) continue;
    const std::string flag = word.substr(0, word.find('='));
    if (is_flag)
      return Failure(Exit::usage,
                     path + " has no flag " + flag + did_you_mean(flag, flags_of(*command)), help);
    if (names.empty())
      return Failure(Exit::usage, path + " takes no argument " + word + " here", help);
    return no_command(path, word, names);
  }
  std::string message = error.what();
  for (char& c : message)
    if (c == '\n') c = ' ';
  return Failure(Exit::usage, path + ": " + message, help);
}

// A group that was called without one of its commands shows them.
bool wants_command(const CLI::App& program) {
  const auto [group, path] = named_in(program);
  if (commands_of(*group).empty() || !program.remaining(true).empty() || !says_text()) return false;
  const size_t above = path.rfind(' ');
  std::cerr << group->help(above == std::string::npos ? "" : path.substr(0, above));
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
    if (error.get_exit_code() == 0) return program.exit(error);
    if (!wants_command(program))
      report(usage_error(program, error, {argv + std::min(argc, 1), argv + argc}));
    return int(Exit::usage);
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
  program->footer(flags_footer);
  program->require_subcommand(1);
  program->add_option("--output,-o", run.flags.output, "Format of the result")
      ->check(CLI::IsMember({"table", "json", "yaml"}));
  program->add_option("--server", run.flags.server, "Address of the server");
  program->add_option("--app", run.flags.app, "App to act for: name, id or client id");
  program->add_option("--client-id", run.flags.client_id,
                      "App to act as, by client credentials; its secret is in BERTH_CLIENT_SECRET");
  add_login_commands(*program, run);
  add_account_commands(*program, run);
  add_app_commands(*program, run);
  add_scope_commands(*program, run);
  add_webhook_commands(*program, run);
  add_tier_commands(*program, run);
  add_deploy_commands(*program, run);
  add_env_commands(*program, run);
  add_shortcut_commands(*program, run);
  add_points_commands(*program, run);
  add_campaign_commands(*program, run);
  add_admin_commands(*program, run);
  add_doctor_command(*program, run);
  add_api_command(*program, run);
  add_config_commands(*program, run);
  add_names_command(*program, run);
  return program;
}

int run_program(int argc, char** argv) {
  Run run;
  speak(form_of_errors(argc, argv));
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
