// Deployments: create, show, change, delete.
#include <map>

#include "cli/commands/commands.h"
#include "cli/env_file.h"
#include "cli/terminal.h"
#include "controller/base/container_spec.h"
#include "controller/base/yaml.h"

namespace berth::cli {
namespace {

using deployments::ContainerField;

struct DeployFlags {
  std::string name;
  // What was given for the container's fields, by their names: one text, or several for a list.
  std::map<std::string_view, std::vector<std::string>> container;
  std::string tier;
  std::string domain;
  std::vector<std::string> env;
  std::vector<std::string> unset;
  std::string env_file;
  std::string registry_username;
  bool registry_password_stdin = false;
  std::string to_log;
  std::string process;
  size_t limit = 20;
  bool yes = false;
  WaitFlags waiting;
};
using SharedDeployFlags = std::shared_ptr<DeployFlags>;

const std::vector<Column>& deployment_fields() {
  static const std::vector<Column> columns = [] {
    std::vector<Column> all = {{"Name", "name"},       {"Id", "id"},         {"Status", "status"},
                               {"Phase", "phase"},     {"Reason", "reason"}, {"Cause", "cause"},
                               {"Message", "message"}, {"URL", "url"}};
    for (const ContainerField& field : deployments::container_fields)
      all.push_back({std::string(field.title), std::string(field.answered_as)});
    all.insert(all.end(), {{"Health", "health_status"},
                           {"Tier", "tier"},
                           {"Memory (MB)", "memory_limit_mb"},
                           {"CPU (1/1000)", "cpu_limit_millicores"},
                           {"Variables", "env_keys"},
                           {"Custom domain", "custom_domain"},
                           {"Billing", "billing_status"},
                           {"Created", "inserted_at"},
                           {"Deployed", "deployed_at"},
                           {"Stopped", "stopped_at"}});
    return all;
  }();
  return columns;
}

// Lists are shown as JSON, which tells where each text ends.
void show(Run& run, const DeployFlags& flags) {
  const json body = run.api().get(deployment_path(run.api(), flags.name));
  json shown = body;
  for (const ContainerField& field : deployments::container_fields)
    if (json& value = shown[std::string(field.answered_as)]; value.is_structured())
      value = value.empty() ? json() : json(value.dump());
  run.out().object(body, shown, deployment_fields());
}

// The values are taken as they are: CLI11 would read a list from "[a,b]" and nothing from "{}".
void add_container_flag(CLI::App& command, DeployFlags& flags, const ContainerField& field) {
  const auto store = [&given = flags.container[field.name]](const CLI::results_t& values) {
    given = values;
    return true;
  };
  CLI::Option* option = command.add_option(std::string(field.flag), store, std::string(field.help));
  option->type_name(field.kind() == ContainerField::Kind::number ? "INT" : "TEXT");
  if (field.is_structure()) option->type_name("YAML");
  if (field.kind() == ContainerField::Kind::number)
    option->check(CLI::Range(field.least, field.most));
  if (field.kind() == ContainerField::Kind::flag) option->check(CLI::IsMember({"true", "false"}));
  if (field.kind() == ContainerField::Kind::texts)
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_wishes(CLI::App& command, DeployFlags& flags) {
  for (const ContainerField& field : deployments::container_fields)
    add_container_flag(command, flags, field);
  command.add_option("--env,-e", flags.env, env_help)->allow_extra_args(false);
  command.add_option("--env-file", flags.env_file, env_file_help);
  command.add_option("--domain", flags.domain, "Custom domain, if the tier allows it");
  CLI::Option* user = command.add_option("--registry-username", flags.registry_username,
                                         "User name for the image's registry");
  command
      .add_flag("--registry-password-stdin", flags.registry_password_stdin,
                "Read the registry's password from stdin")
      ->needs(user);
}

// Returns null if nothing was given.
json value_from(const ContainerField& field, const std::vector<std::string>& given) {
  if (given.empty()) return nullptr;
  if (field.kind() == ContainerField::Kind::texts) return given;
  if (field.kind() == ContainerField::Kind::number)
    return std::stoll(given.front(), nullptr, 0);  // as CLI11 reads numbers
  if (field.kind() == ContainerField::Kind::flag) return given.front() == "true";
  if (field.is_structure()) {
    try {
      return parse_yaml(given.front(), std::string(field.name));
    } catch (const std::runtime_error& error) {
      throw Failure(Exit::usage, error.what());
    }
  }
  return given.front();
}

json wishes(const DeployFlags& flags) {
  json body = json::object();
  for (const ContainerField& field : deployments::container_fields)
    if (const json value = value_from(field, flags.container.at(field.name)); !value.is_null())
      body[std::string(field.name)] = value;
  if (!flags.tier.empty()) body["tier"] = flags.tier;
  if (!flags.domain.empty()) body["custom_domain"] = flags.domain;
  if (flags.env_file == "-" && flags.registry_password_stdin)
    throw Failure(Exit::usage, "stdin can't be both the file of variables and the password");
  json env = variables_from(flags.env_file, flags.env);
  for (const std::string& key : flags.unset) env[key] = nullptr;
  if (!env.empty()) body["env_vars"] = env;
  if (!flags.registry_username.empty())
    body["registry_credentials"] = {
        {"username", flags.registry_username},
        {"password",
         flags.registry_password_stdin
             ? secret_from_stdin("registry password")
             : ask_secret("Password for the registry", "Pass --registry-password-stdin.")}};
  return body;
}

void create(Run& run, const DeployFlags& flags) {
  json body = wishes(flags);
  body["name"] = flags.name;
  const json answer = run.api().post("/api/deploy/apps", body);
  show_change(run, answer, flags.waiting,
              flags.name + " will be served at " + answer.at("url").get<std::string>() +
                  "; follow it with `berth deploy status " + flags.name + "`.");
}

void update(Run& run, const DeployFlags& flags) {
  json body = wishes(flags);
  // The text "none" removes the present value, such as the domain.
  for (auto& [field, value] : body.items())
    if ((value == "none" || value == json::array({"none"})) && field != "image" && field != "tier")
      value = nullptr;
  if (body.empty())
    throw Failure(Exit::usage, "nothing to change",
                  "`berth deploy update --help` lists what can be changed.");
  const json answer = run.api().call(
      {.method = "PATCH", .path = deployment_path(run.api(), flags.name), .body = body});
  show_change(run, answer, flags.waiting, flags.name + " is " + cell(answer, "status") + ".");
}

void act(Run& run, const DeployFlags& flags, const std::string& action,
         const json& body = nullptr) {
  const json answer = run.api().post(deployment_path(run.api(), flags.name, "/" + action), body);
  show_change(run, answer, flags.waiting, flags.name + " is " + cell(answer, "status") + ".");
}

void remove(Run& run, const DeployFlags& flags) {
  const std::string id = deployment_id(run.api(), flags.name);
  // An id says little, so the name is asked for.
  const std::string name = flags.yes || !is_uuid(flags.name)
                               ? flags.name
                               : cell(run.api().get("/api/deploy/apps/" + id), "name");
  confirm_name("This deletes the deployment " + name +
                   " for good. Points that were paid for it don't come back.",
               name, flags.yes);
  const json answer = run.api().call({.method = "DELETE", .path = "/api/deploy/apps/" + id});
  run.out().done(answer, flags.name + " was deleted; its name is free.");
}

void add_deployment_creation(CLI::App& deploy, Run& run) {
  const SharedDeployFlags flags = std::make_shared<DeployFlags>();
  flags->tier = "free";
  CLI::App* command =
      add_command(deploy, "create", "Create a deployment that runs an image",
                  "berth deploy create hello --image docker.io/library/hello:1 --wait",
                  [&run, flags] { create(run, *flags); });
  command->add_option("NAME", flags->name, "Name, which becomes the sub-domain")->required();
  command->add_option("--tier,-t", flags->tier, "Tier, by its slug")->capture_default_str();
  add_wishes(*command, *flags);
  command->get_option("--image")->required();
  add_wait(*command, flags->waiting);
}

void add_update(CLI::App& deploy, Run& run) {
  const SharedDeployFlags flags = std::make_shared<DeployFlags>();
  CLI::App* command =
      add_command(deploy, "update", "Change a deployment without dropping requests",
                  "berth deploy update hello --image docker.io/library/hello:2 --wait",
                  [&run, flags] { update(run, *flags); });
  add_deployment(*command, flags->name);
  command->add_option("--tier,-t", flags->tier, "Tier, by its slug");
  command->add_option("--unset-env", flags->unset, "Variable to remove; may be repeated")
      ->allow_extra_args(false);
  add_wishes(*command, *flags);
  add_wait(*command, flags->waiting);
}

void instances(Run& run, const DeployFlags& flags) {
  const json body = run.api().get(deployment_path(run.api(), flags.name, "/instances"));
  run.out().list(body, body.at("instances"),
                 {{"INSTANCE", "name"},
                  {"PROCESS", "process"},
                  {"IMAGE", "image"},
                  {"STATE", "state"},
                  {"REASON", "reason"},
                  {"SERVES", "ready"},
                  {"NEWEST", "newest"},
                  {"RESTARTS", "restarts"},
                  {"NODE", "node"},
                  {"SINCE", "started_at"}});
}

// The server returns its newest 1,000 entries, the newest last.
void history(Run& run, const DeployFlags& flags) {
  json body = run.api().get(deployment_path(run.api(), flags.name, "/logs"));
  json& entries = body.at("logs");
  const size_t older = entries.size() > flags.limit ? entries.size() - flags.limit : 0;
  entries.erase(entries.begin(), entries.begin() + std::ptrdiff_t(older));
  run.out().list(body, entries,
                 {{"WHEN", "inserted_at"},
                  {"ACTION", "action"},
                  {"STATUS", "status"},
                  {"ID", "id"},
                  {"DETAILS", "details"}});
  if (older > 0) say(std::to_string(older) + " older entries aren't shown; -n shows more.");
}

void add_looks(CLI::App& deploy, Run& run) {
  add_list_command(deploy, run);
  const SharedDeployFlags got = std::make_shared<DeployFlags>();
  add_deployment(*add_command(deploy, "get", "Show everything about a deployment",
                              "berth deploy get hello", [&run, got] { show(run, *got); }),
                 got->name);
  add_status_command(deploy, run);
  const SharedDeployFlags running = std::make_shared<DeployFlags>();
  add_deployment(
      *add_command(deploy, "instances", "List a deployment's containers, and what each runs",
                   "berth deploy instances hello", [&run, running] { instances(run, *running); }),
      running->name);
  const SharedDeployFlags past = std::make_shared<DeployFlags>();
  CLI::App* command = add_command(
      deploy, "history", "List what was done with a deployment most recently, with the results",
      "berth deploy history hello -n 5", [&run, past] { history(run, *past); });
  add_deployment(*command, past->name);
  command->add_option("--limit,-n", past->limit, "Maximum number of entries, the newest ones")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), most_items));
}

void add_actions(CLI::App& deploy, Run& run) {
  const SharedDeployFlags stopped = std::make_shared<DeployFlags>();
  add_deployment(
      *add_command(deploy, "stop", "Stop a deployment's container and keep the deployment",
                   "berth deploy stop hello", [&run, stopped] { act(run, *stopped, "stop"); }),
      stopped->name);
  add_restart_command(deploy, run);
  const SharedDeployFlags back = std::make_shared<DeployFlags>();
  CLI::App* rollback = add_command(
      deploy, "rollback", "Return a deployment to what an earlier rollout ran",
      "berth deploy rollback hello --wait", [&run, back] {
        const json body = back->to_log.empty() ? json::object() : json{{"to_log_id", back->to_log}};
        act(run, *back, "rollback", body);
      });
  add_deployment(*rollback, back->name);
  rollback->add_option("--to", back->to_log, "Id of an entry of `berth deploy history`");
  add_wait(*rollback, back->waiting);
  add_delete_command(deploy, run);
}

}  // namespace

void add_deploy_commands(CLI::App& root, Run& run) {
  CLI::App* deploy =
      add_group(root, "deploy", "Deployments: containers, each on a sub-domain of its own");
  add_deployment_creation(*deploy, run);
  add_up_command(*deploy, run);
  add_looks(*deploy, run);
  add_update(*deploy, run);
  add_scale_command(*deploy, run);
  add_actions(*deploy, run);
  add_logs_command(*deploy, run);
  add_events_command(*deploy, run);
  add_billing_commands(*deploy, run);
  add_top_command(*deploy, run);
  add_open_command(*deploy, run);
}

void add_restart_command(CLI::App& parent, Run& run) {
  const SharedDeployFlags flags = std::make_shared<DeployFlags>();
  CLI::App* command =
      add_command(parent, "restart", "Restart a deployment, pulling its image again",
                  path_in(parent) + "restart hello --process worker --wait", [&run, flags] {
                    const json body =
                        flags->process.empty() ? json::object() : json{{"process", flags->process}};
                    act(run, *flags, "restart", body);
                  });
  add_deployment(*command, flags->name);
  command->add_option("--process", flags->process, "Replace the containers of this process alone");
  add_wait(*command, flags->waiting);
}

void add_delete_command(CLI::App& parent, Run& run) {
  const SharedDeployFlags flags = std::make_shared<DeployFlags>();
  CLI::App* command =
      add_command(parent, "delete", "Delete a deployment for good",
                  path_in(parent) + "delete hello --yes", [&run, flags] { remove(run, *flags); });
  add_deployment(*command, flags->name);
  command->add_flag("--yes,-y", flags->yes, "Don't ask for the name");
}

void add_shortcut_commands(CLI::App& root, Run& run) {
  add_init_command(root, run);
  add_up_command(root, run);
  add_list_command(root, run);
  add_status_command(root, run);
  add_logs_command(root, run);
  add_top_command(root, run);
  add_open_command(root, run);
  add_scale_command(root, run);
  add_restart_command(root, run);
  add_delete_command(root, run);
}

}  // namespace berth::cli
