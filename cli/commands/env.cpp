// The variables of a deployment's container, and those that all deployments of an app inherit.
#include <algorithm>

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

constexpr const char* app_path = "/api/deploy/variables";

// `env_keys` are the names of the deployment's own variables, as in other answers. A server that
// is older than the client may not say where variables come from; then all of them are its own.
void list(Run& run, const EnvFlags& flags) {
  json body = run.api().get(deployment_path(run.api(), flags.deployment, "/env"));
  body["env_keys"] = json::array();
  json rows = body.at("variables");
  for (json& row : rows) {
    const std::string from = row.value("from", "deployment");
    row["shown_from"] = row.value("overrides", false) ? from + " (overrides the app's)" : from;
    if (from == "deployment") body["env_keys"].push_back(row.at("name"));
  }
  run.out().list(
      body, rows,
      {{"NAME", "name"}, {"DIGEST", "digest"}, {"SET", "set_at"}, {"FROM", "shown_from"}});
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
      throw Failure(Exit::not_found, flags.deployment + " has no variable " + key + " of its own",
                    "It has " + cell(row, "env_keys") +
                        ". A variable that it inherits is removed by `berth env app unset`.");
    variables[key] = nullptr;
  }
  change(run, flags, variables);
}

void list_of_app(Run& run) {
  const json body = run.api().get(app_path);
  run.out().list(body, body.at("variables"),
                 {{"NAME", "name"}, {"DIGEST", "digest"}, {"SET", "set_at"}});
}

// Returns the names, with commas between them.
std::string names_in(const json& items) {
  std::string text;
  for (const json& item : items) text += (text.empty() ? "" : ", ") + cell(item, "name");
  return text;
}

void change_of_app(Run& run, const json& variables) {
  if (variables.empty())
    throw Failure(Exit::usage, "no variables were named",
                  "Name at least one; see `berth env app --help`.");
  const json answer =
      run.api().call({.method = "PATCH", .path = app_path, .body = {{"variables", variables}}});
  const std::string names = names_in(answer.at("variables"));
  const std::string replaced = names_in(answer.at("deployments"));
  run.out().done(
      answer,
      (names.empty() ? "The app has no variables." : "The app has the variables " + names + ".") +
          (replaced.empty() ? " No container is replaced."
                            : " The containers of " + replaced + " are being replaced."));
}

void unset_of_app(Run& run, const std::vector<std::string>& names) {
  const json present = run.api().get(app_path).at("variables");
  json variables = json::object();
  for (const std::string& name : names) {
    if (std::ranges::none_of(present, [&](const json& one) { return one.at("name") == name; }))
      throw Failure(Exit::not_found, "the app has no variable " + name,
                    present.empty() ? "It has none." : "It has " + names_in(present) + ".");
    variables[name] = nullptr;
  }
  change_of_app(run, variables);
}

void add_app_variable_commands(CLI::App& env, Run& run) {
  CLI::App* app =
      add_group(env, "app", "The variables of an app, which all its deployments inherit");
  add_command(*app, "list", "List the app's variables, each with a digest of its value",
              "berth env app list", [&run] { list_of_app(run); });
  const SharedEnvFlags given = std::make_shared<EnvFlags>();
  CLI::App* setting = add_command(
      *app, "set",
      "Set variables of the app and keep the others; the containers of "
      "all deployments that get another value by it are replaced",
      "berth env app set LOG_LEVEL=info",
      [&run, given] { change_of_app(run, variables_from(given->file, given->variables)); });
  setting->add_option("APP-VARIABLE", given->variables, env_help);
  setting->add_option("--env-file", given->file, env_file_help);
  const SharedEnvFlags taken = std::make_shared<EnvFlags>();
  CLI::App* removal = add_command(*app, "unset", "Remove variables of the app and keep the others",
                                  "berth env app unset LOG_LEVEL",
                                  [&run, taken] { unset_of_app(run, taken->variables); });
  removal->add_option("APP-KEY", taken->variables, "Names of the variables")->required();
}

}  // namespace

void add_env_commands(CLI::App& root, Run& run) {
  CLI::App* env = add_group(root, "env", "The variables of deployments and of apps");
  const SharedEnvFlags listed = std::make_shared<EnvFlags>();
  add_deployment(
      *add_command(*env, "list",
                   "List the variables, each with a digest of its value, when it was set "
                   "and whether it is the app's; the server never gives values back",
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

  add_app_variable_commands(*env, run);
}

}  // namespace berth::cli
