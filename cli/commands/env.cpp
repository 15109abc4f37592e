// The variables of a deployment's container.
#include "cli/commands/commands.h"
#include "cli/env_file.h"

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
  json body = run.api().get(deployment_path(run.api(), flags.deployment, "/env"));
  body["env_keys"] = json::array();
  for (const json& variable : body.at("variables")) body["env_keys"].push_back(variable.at("name"));
  run.out().list(body, body.at("variables"),
                 {{"NAME", "name"}, {"DIGEST", "digest"}, {"SET", "set_at"}});
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
  change(run, flags, variables_from(flags.file, flags.variables));
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
                              "List the variables, each with a digest of its value and when it was "
                              "set; the server never gives values back",
                              "berth env list hello", [&run, listed] { list(run, *listed); }),
                 listed->deployment);

  const SharedEnvFlags given = std::make_shared<EnvFlags>();
  CLI::App* setting = add_command(*env, "set", "Set variables and keep the others",
                                  "berth env set hello LOG_LEVEL=debug --wait",
                                  [&run, given] { set(run, *given); });
  add_deployment(*setting, given->deployment);
  setting->add_option("VARIABLE", given->variables, env_help);
  setting->add_option("--env-file", given->file, env_file_help);
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
