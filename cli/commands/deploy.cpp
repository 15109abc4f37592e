// Deployments: create, show, change, delete.
#include "cli/commands/commands.h"
#include "cli/deploy_plan.h"
#include "cli/terminal.h"

namespace berth::cli {
namespace {

struct DeployFlags {
  std::string name;
  std::string image;
  std::string tier;
  int port = 0;
  std::string domain;
  std::string health_path;
  std::vector<std::string> env;
  std::vector<std::string> unset;
  std::string env_file;
  std::string registry_username;
  bool registry_password_stdin = false;
  std::string to_log;
  bool yes = false;
  WaitFlags waiting;
};
using SharedDeployFlags = std::shared_ptr<DeployFlags>;

const std::vector<Column> deployment_fields = {{"Name", "name"},
                                               {"Id", "id"},
                                               {"Status", "status"},
                                               {"Phase", "phase"},
                                               {"Reason", "reason"},
                                               {"Cause", "cause"},
                                               {"Message", "message"},
                                               {"URL", "url"},
                                               {"Image", "container_image"},
                                               {"Tier", "tier"},
                                               {"Memory (MB)", "memory_limit_mb"},
                                               {"CPU (1/1000)", "cpu_limit_millicores"},
                                               {"Port", "port"},
                                               {"Health path", "health_path"},
                                               {"Health", "health_status"},
                                               {"Variables", "env_keys"},
                                               {"Custom domain", "custom_domain"},
                                               {"Billing", "billing_status"},
                                               {"Created", "inserted_at"},
                                               {"Deployed", "deployed_at"},
                                               {"Stopped", "stopped_at"}};

void add_wishes(CLI::App& command, DeployFlags& flags) {
  command.add_option("--port", flags.port, "Port on which the container listens; 3000 by default")
      ->check(CLI::Range(1, 65'535));
  command
      .add_option(
          "--env,-e", flags.env,
          "Variable: KEY=VALUE, or KEY to use the value from your environment; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option("--env-file", flags.env_file,
                  "File of variables, with one KEY=VALUE in each line")
      ->check(CLI::ExistingFile);
  command.add_option("--domain", flags.domain, "Custom domain, if the tier allows it");
  command.add_option("--health-path", flags.health_path,
                     "Path that answers with a status from 200 to 399 when the container is ready");
  CLI::Option* user = command.add_option("--registry-username", flags.registry_username,
                                         "User name for the image's registry");
  command
      .add_flag("--registry-password-stdin", flags.registry_password_stdin,
                "Read the registry's password from stdin")
      ->needs(user);
}

json wishes(const DeployFlags& flags) {
  json body = json::object();
  if (!flags.image.empty()) body["image"] = flags.image;
  if (!flags.tier.empty()) body["tier"] = flags.tier;
  if (flags.port != 0) body["port"] = flags.port;
  if (!flags.domain.empty()) body["custom_domain"] = flags.domain;
  if (!flags.health_path.empty()) body["health_path"] = flags.health_path;
  json env = json::object();
  if (!flags.env_file.empty())
    env = parse_env_file(read_file(flags.env_file).value_or(""), flags.env_file);
  for (const std::string& text : flags.env) {
    const auto [key, value] = parse_env(text);
    env[key] = value;
  }
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
  // The domain "none" releases the present domain.
  for (const char* field : {"custom_domain", "health_path"})
    if (body.value(field, json()) == "none") body[field] = nullptr;
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
  confirm("Delete " + flags.name + " for good? Points that were paid for it don't come back",
          flags.yes);
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
  command
      ->add_option("--image,-i", flags->image,
                   "Image with its registry, such as docker.io/library/hello:1")
      ->required();
  command->add_option("--tier,-t", flags->tier, "Tier, by its slug")->capture_default_str();
  add_wishes(*command, *flags);
  add_wait(*command, flags->waiting);
}

void add_update(CLI::App& deploy, Run& run) {
  const SharedDeployFlags flags = std::make_shared<DeployFlags>();
  CLI::App* command =
      add_command(deploy, "update", "Change a deployment without dropping requests",
                  "berth deploy update hello --image docker.io/library/hello:2 --wait",
                  [&run, flags] { update(run, *flags); });
  add_deployment(*command, flags->name);
  command->add_option("--image,-i", flags->image, "The image to run from now on");
  command->add_option("--tier,-t", flags->tier, "Tier, by its slug");
  command->add_option("--unset-env", flags->unset, "Variable to remove; may be repeated")
      ->allow_extra_args(false);
  add_wishes(*command, *flags);
  add_wait(*command, flags->waiting);
}

void add_looks(CLI::App& deploy, Run& run) {
  add_list_command(deploy, run);
  const SharedDeployFlags got = std::make_shared<DeployFlags>();
  add_deployment(
      *add_command(deploy, "get", "Show everything about a deployment", "berth deploy get hello",
                   [&run, got] {
                     const json body = run.api().get(deployment_path(run.api(), got->name));
                     run.out().object(body, body, deployment_fields);
                   }),
      got->name);
  add_status_command(deploy, run);
  const SharedDeployFlags past = std::make_shared<DeployFlags>();
  add_deployment(
      *add_command(deploy, "history", "List what was done with a deployment, with the results",
                   "berth deploy history hello",
                   [&run, past] {
                     const json body =
                         run.api().get(deployment_path(run.api(), past->name, "/logs"));
                     run.out().list(body, body.at("logs"),
                                    {{"WHEN", "inserted_at"},
                                     {"ACTION", "action"},
                                     {"STATUS", "status"},
                                     {"ID", "id"},
                                     {"DETAILS", "details"}});
                   }),
      past->name);
}

void add_actions(CLI::App& deploy, Run& run) {
  const SharedDeployFlags stopped = std::make_shared<DeployFlags>();
  add_deployment(
      *add_command(deploy, "stop", "Stop a deployment's container and keep the deployment",
                   "berth deploy stop hello", [&run, stopped] { act(run, *stopped, "stop"); }),
      stopped->name);
  const SharedDeployFlags restarted = std::make_shared<DeployFlags>();
  CLI::App* restart = add_command(
      deploy, "restart", "Restart a deployment, pulling its image again",
      "berth deploy restart hello --wait", [&run, restarted] { act(run, *restarted, "restart"); });
  add_deployment(*restart, restarted->name);
  add_wait(*restart, restarted->waiting);
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
  const SharedDeployFlags gone = std::make_shared<DeployFlags>();
  CLI::App* end =
      add_command(deploy, "delete", "Delete a deployment for good",
                  "berth deploy delete hello --yes", [&run, gone] { remove(run, *gone); });
  add_deployment(*end, gone->name);
  end->add_flag("--yes,-y", gone->yes, "Don't ask for confirmation");
}

}  // namespace

void add_deploy_commands(CLI::App& root, Run& run) {
  CLI::App* deploy =
      add_group(root, "deploy", "Deployments: containers, each on a sub-domain of its own");
  add_deployment_creation(*deploy, run);
  add_up_command(*deploy, run);
  add_looks(*deploy, run);
  add_update(*deploy, run);
  add_actions(*deploy, run);
  add_logs_command(*deploy, run);
  add_events_command(*deploy, run);
  add_billing_commands(*deploy, run);
  add_top_command(*deploy, run);
  add_open_command(*deploy, run);
}

void add_shortcut_commands(CLI::App& root, Run& run) {
  add_init_command(root, run);
  add_list_command(root, run);
  add_status_command(root, run);
  add_logs_command(root, run);
  add_top_command(root, run);
  add_open_command(root, run);
}

}  // namespace berth::cli
