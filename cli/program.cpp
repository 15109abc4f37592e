#include "cli/program.h"

#include <algorithm>
#include <iostream>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/suggest.h"
#include "cli/words.h"
#include "controller/base/text.h"

namespace berth::cli {
namespace {

// The form in which errors are printed. It is looked for here because an error may come up before
// the flags are parsed, and as their values can be wrong, a form that isn't known counts as a
// table.
Format form_of_errors(const std::vector<std::string>& words) {
  std::optional<std::string> name = variable("BERTH_OUTPUT");
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if ((words[i] == "-o" || words[i] == "--output") && i + 1 < words.size()) name = words[i + 1];
    for (const std::string_view flag : {"-o", "-o=", "--output="})
      if (words[i].starts_with(flag) && words[i].size() > flag.size())
        name = words[i].substr(flag.size());
  }
  try {
    return parse_format(name ? *name : load_config(places().config_file).output.value_or("table"));
  } catch (const Failure&) {
    return Format::table;
  }
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

// Returns the first word before the first command that no command or flag has, or an empty text.
// Somebody probably meant it as a command. A later word may still be a command, such as `list` in
// `berth deplyo list`.
std::string not_a_command(const CLI::App& program, const std::vector<std::string>& words) {
  const std::vector<std::string> unknown = program.remaining(true);
  const auto named = program.get_subcommands();
  for (const std::string& word : words) {
    if (!named.empty() && named.front()->check_name(word)) return "";
    if (!word.starts_with('-') && std::ranges::find(unknown, word) != unknown.end()) return word;
  }
  return "";
}

Failure no_command(const std::string& path, const std::string& word, const CLI::App& group) {
  std::vector<std::string> names = commands_of(group);
  const std::string list = joined(names, ", ");
  for (const CLI::App* command : group.get_subcommands([](const CLI::App*) { return true; }))
    for (const std::string& alias : command->get_aliases()) names.push_back(alias);
  return Failure(Exit::usage, path + " has no command " + word + did_you_mean_command(word, names),
                 "There are " + list + "; `" + path + " --help` shows more.");
}

// Describes the mistake in the command line for a person. CLI11's own message doesn't know the
// commands.
Failure usage_error(const CLI::App& program, const CLI::ParseError& error, const Line& line) {
  if (const std::string word = not_a_command(program, line.words); !word.empty())
    return no_command(program.get_name(), word, program);
  const auto [command, path] = line.named;
  const std::vector<std::string> names = commands_of(*command);
  const std::string help = "`" + path + " --help` shows more.";
  for (const std::string& word : program.remaining(true)) {
    const bool is_flag = word.starts_with('-');
    // If an argument is missing, that is reported rather than a superfluous word.
    if (!is_flag && names.empty() && !dynamic_cast<const CLI::ExtrasError*>(&error)) continue;
    const std::string flag = word.substr(0, word.find('='));
    if (is_flag)
      return Failure(Exit::usage,
                     path + " has no flag " + flag + did_you_mean(flag, flags_of(*command)), help);
    if (names.empty())
      return Failure(Exit::usage, path + " takes no argument " + word + " here", help);
    return no_command(path, word, *command);
  }
  std::string message = error.what();
  for (char& c : message)
    if (c == '\n') c = ' ';
  return Failure(Exit::usage, path + ": " + message, help);
}

// A group that was called without one of its commands shows them.
bool wants_command(const CLI::App& program, const Named& named) {
  const auto [group, path] = named;
  if (commands_of(*group).empty() || !program.remaining(true).empty() || !says_text()) return false;
  const size_t above = path.rfind(' ');
  std::cerr << group->help(above == std::string::npos ? "" : path.substr(0, above));
  return true;
}

int parse_and_run(CLI::App& program, const std::vector<std::string>& words) {
  const Line line = prepared(program, words);
  try {
    // CLI11 takes them from the end.
    program.parse(std::vector<std::string>(line.words.rbegin(), line.words.rend()));
    std::cout.flush();
    if (!std::cout) throw Failure(Exit::failed, "the result can't be written to stdout");
    return int(Exit::ok);
  } catch (const CLI::ParseError& error) {
    // --help and --version arrive here too, with the code 0.
    if (error.get_exit_code() == 0) return program.exit(error);
    if (!wants_command(program, line.named)) report(usage_error(program, error, line));
    return int(Exit::usage);
  } catch (const Differs&) {
    std::cout.flush();
    return int(Exit::failed);
  } catch (const ExitWith& ended) {
    std::cout.flush();
    return ended.code;
  } catch (const Failure& failure) {
    report(failure);
    return int(failure.exit);
  }
}

}  // namespace

std::unique_ptr<CLI::App> make_program(Run& run) {
  auto program =
      std::make_unique<CLI::App>("the client of berth, a container-hosting platform", "berth");
  program->set_version_flag("--version", version_line(), "Print the version");
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
  add_member_commands(*program, run);
  add_token_commands(*program, run);
  add_trust_commands(*program, run);
  add_audit_command(*program, run);
  add_webhook_commands(*program, run);
  add_alert_commands(*program, run);
  add_tier_commands(*program, run);
  add_deploy_commands(*program, run);
  add_env_commands(*program, run);
  add_shortcut_commands(*program, run);
  add_points_commands(*program, run);
  add_usage_commands(*program, run);
  add_push_commands(*program, run);
  add_receipt_commands(*program, run);
  add_refund_commands(*program, run);
  add_build_commands(*program, run);
  add_run_commands(*program, run);
  add_campaign_commands(*program, run);
  add_admin_commands(*program, run);
  add_doctor_command(*program, run);
  add_api_command(*program, run);
  add_config_commands(*program, run);
  add_exec_commands(*program, run);
  add_names_command(*program, run);
  add_help_commands(*program, run);
  refuse_empty(*program);
  return program;
}

int run_program(int argc, char** argv) {
  Run run;
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const auto dashes = std::ranges::find(words, "--");
  if (dashes != words.end()) run.behind_dashes.assign(dashes + 1, words.end());
  speak(form_of_errors(words));
  try {
    return parse_and_run(*make_program(run), words);
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
