// The variables of a deployment's container.
#include "cli/commands/commands.h"
#include "cli/deploy_plan.h"
#include "cli/files.h"

namespace berth::cli {
namespace {

struct EnvFlags {
  std::string deployment;
  std::vector<std::string> variables;
  std::string file;
  WaitFlags waiting;
};
using SharedEnvFlags = std::shared_ptr<EnvFlags>;

void list(Run& run, const EnvFlags& flags) {
  const json row = run.api().get(deployment_path(run.api(), flags.deployment));
  const json body = {{"env_keys", row.at("env_keys")}};
  run.out().print(body, [&] {
    std::string text;
    for (const json& key : row.at("env_keys")) text += printable(key.get<std::string>()) + "\n";
    return text;
  });
}

// The API merges: it sets these, removes those that are null, and leaves the others as they are.
void change(Run& run, const EnvFlags& flags, const json& variables) {
  if (variables.empty())
    throw Failure(Exit::usage, "no variables were named",
                  "Name at least one; see `berth env --help`.");
  const json answer = run.api().call({.method = "PATCH",
                                      .path = deployment_path(run.api(), flags.deployment),
                                      .body = {{"env_vars", variables}}});
  show_change(run, answer, flags.waiting,
              flags.deployment + " has the variables " + cell(answer, "env_keys") +
                  "; a changed value replaces its container.");
}

void set(Run& run, const EnvFlags& flags) {
  json variables = json::object();
  if (!flags.file.empty())
    variables = parse_env_file(read_file(flags.file).value_or(""), flags.file);
  for (const std::string& text : flags.variables) {
    const auto [key, value] = parse_env(text);
    variables[key] = value;
  }
  change(run, flags, variables);
}

void unset(Run& run, const EnvFlags& flags) {
  const json row = run.api().get(deployment_path(run.api(), flags.deployment));
  json variables = json::object();
  for (const std::string& key : flags.variables) {
    const json& keys = row.at("env_keys");
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      throw Failure(Exit::not_found, flags.deployment + " has no variable " + key,
                    "It has " + cell(row, "env_keys") + ".");
    variables[key] = nullptr;
  }
  change(run, flags, variables);
}

}  // namespace

void add_env_commands(CLI::App& root, Run& run) {
  CLI::App* env = add_group(root, "env", "The variables of a deployment's container");
  const SharedEnvFlags listed = std::make_shared<EnvFlags>();
  add_deployment(*add_command(*env, "list",
                              "List the names of the variables; the server never gives values back",
                              "berth env list hello", [&run, listed] { list(run, *listed); }),
                 listed->deployment);

  const SharedEnvFlags given = std::make_shared<EnvFlags>();
  CLI::App* setting = add_command(*env, "set", "Set variables and keep the others",
                                  "berth env set hello LOG_LEVEL=debug --wait",
                                  [&run, given] { set(run, *given); });
  add_deployment(*setting, given->deployment);
  setting->add_option("VARIABLE", given->variables,
                      "KEY=VALUE, or KEY to take the value from your environment");
  setting
      ->add_option("--env-file", given->file, "File of variables, with one KEY=VALUE in each line")
      ->check(CLI::ExistingFile);
  add_wait(*setting, given->waiting);

  const SharedEnvFlags taken = std::make_shared<EnvFlags>();
  CLI::App* removal =
      add_command(*env, "unset", "Remove variables and keep the others",
                  "berth env unset hello LOG_LEVEL", [&run, taken] { unset(run, *taken); });
  add_deployment(*removal, taken->deployment);
  removal->add_option("KEY", taken->variables, "Names of the variables")->required();
  add_wait(*removal, taken->waiting);
}

}  // namespace berth::cli
