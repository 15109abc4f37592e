// Deploys on push, and previews.
#include "cli/commands/commands.h"
#include "cli/env_file.h"

namespace berth::cli {
namespace {

void show_auto_deploy(Run& run, const std::string& deployment) {
  const json body = run.api().get(deployment_path(run.api(), deployment, "/auto-deploy"));
  json shown = body;
  shown["rejected"] = body.at("rejected").empty() ? json() : json(body.at("rejected").dump());
  run.out().object(body, shown,
                   {{"Deploys on push", "auto_deploy"},
                    {"Image", "image"},
                    {"Digest", "digest"},
                    {"Asked", "asked_at"},
                    {"Next", "next_at"},
                    {"Problem", "error"},
                    {"On trial until", "trial_until"},
                    {"Rejected", "rejected"},
                    {"Hook", "has_hook"}});
}

void set_auto_deploy(Run& run, const std::string& deployment, bool on) {
  const json answer = run.api().call({.method = "PATCH",
                                      .path = deployment_path(run.api(), deployment),
                                      .body = json{{"auto_deploy", on}}});
  run.out().done(answer, on ? deployment + " follows the tag of its image from now on."
                            : deployment + " no longer follows the tag of its image.");
}

void make_hook(Run& run, const std::string& deployment) {
  const json answer = run.api().post(deployment_path(run.api(), deployment, "/auto-deploy/hook"));
  run.out().print(answer, [&] { return answer.at("url").get<std::string>() + "\n"; });
}

void remove_hook(Run& run, const std::string& deployment) {
  run.api().call(
      {.method = "DELETE", .path = deployment_path(run.api(), deployment, "/auto-deploy/hook")});
  run.out().done(json::object(), "The hook's address no longer works.");
}

struct PreviewFlags {
  std::string deployment;
  std::string name;
  std::string ttl = "1d";
  std::string image;
  std::vector<std::string> env;
  std::string env_file;
  std::optional<std::int64_t> budget;
};

// "90m", "36h", "2d", or seconds.
std::int64_t seconds_of(const std::string& text) {
  const std::map<char, std::int64_t> units = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86'400}};
  const auto unit = text.empty() ? units.end() : units.find(text.back());
  const std::string digits = unit == units.end() ? text : text.substr(0, text.size() - 1);
  const bool is_number = !digits.empty() && digits.size() <= 9 &&
                         digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number)
    throw Failure(Exit::usage, "\"" + text + "\" isn't a time", "Say 90m, 36h or 2d.");
  return std::stoll(digits) * (unit == units.end() ? 1 : unit->second);
}

void create_preview(Run& run, const PreviewFlags& flags) {
  if (flags.name.empty()) {
    const json body = run.api().get(deployment_path(run.api(), flags.deployment, "/previews"));
    json rows = json::array();
    for (const json& preview : body.at("previews"))
      rows.push_back({{"name", preview.at("deployment").at("name")},
                      {"status", preview.at("deployment").at("status")},
                      {"url", preview.at("deployment").at("url")},
                      {"expires_at", preview.at("expires_at")}});
    std::vector<std::vector<std::string>> lines;
    for (const json& row : rows)
      lines.push_back(
          {cell(row, "name"), cell(row, "status"), cell(row, "url"), cell(row, "expires_at")});
    run.out().print(body, [&] { return table_of({"NAME", "STATUS", "URL", "ENDS"}, lines); });
    return;
  }
  json body = {{"name", flags.name}, {"ttl_seconds", seconds_of(flags.ttl)}};
  if (!flags.image.empty()) body["image"] = flags.image;
  if (const json env = variables_from(flags.env_file, flags.env); !env.empty())
    body["env_vars"] = env;
  if (flags.budget) body["budget"] = *flags.budget;
  const json answer =
      run.api().post(deployment_path(run.api(), flags.deployment, "/previews"), body);
  const json& preview = answer.at("preview");
  run.out().done(answer, flags.name + " will be served at " + cell(preview, "deployment.url") +
                             " until " + cell(preview, "expires_at") + ".");
}

}  // namespace

void add_push_commands(CLI::App& root, Run& run) {
  CLI::App* group =
      add_group(root, "auto-deploy", "Deployments that follow the tag of their image");
  const auto add = [&](const char* name, const char* text, auto action) {
    const auto deployment = std::make_shared<std::string>();
    CLI::App* command =
        add_command(*group, name, text, std::string("berth auto-deploy ") + name + " shop",
                    [&run, deployment, action] { action(run, *deployment); });
    add_deployment(*command, *deployment);
  };
  add("on", "Roll each new image under the tag out by itself",
      [](Run& r, const std::string& name) { set_auto_deploy(r, name, true); });
  add("off", "Leave a new image to `berth restart`",
      [](Run& r, const std::string& name) { set_auto_deploy(r, name, false); });
  add("show", "Show what the registry said last, and what was rolled back", show_auto_deploy);
  add("hook", "Make the address for a registry's hook, and print it", make_hook);
  add("unhook", "Remove the address for a registry's hook", remove_hook);

  const auto flags = std::make_shared<PreviewFlags>();
  CLI::App* preview = add_command(
      root, "preview", "Run a copy of a deployment for a limited time, or list the copies",
      "berth preview shop shop-fix-7 --ttl 2d --image ghcr.io/acme/web:fix-7 --budget 100",
      [&run, flags] { create_preview(run, *flags); });
  add_deployment(*preview, flags->deployment);
  preview->add_option("NAME", flags->name, "Name of the copy; without it the copies are listed");
  preview->add_option("--ttl", flags->ttl, "Time after which it is deleted: 90m, 36h, 2d")
      ->capture_default_str();
  preview->add_option("--image,-i", flags->image, "Another image");
  preview->add_option("--env,-e", flags->env, env_help)->allow_extra_args(false);
  preview->add_option("--env-file", flags->env_file, env_file_help);
  preview->add_option("--budget", flags->budget, "Points that it may cost in 30 days");
}

}  // namespace berth::cli
