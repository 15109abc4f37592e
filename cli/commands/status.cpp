// The command `status`, which shows one deployment, or an overview of everything that the user has
// on this server.
#include "cli/commands/commands.h"
#include "cli/wait.h"

namespace berth::cli {
namespace {

struct StatusFlags {
  std::string name;
  WaitFlags waiting;
};

void status_of_deployment(Run& run, const StatusFlags& flags) {
  const std::string id = deployment_id(run.api(), flags.name);
  const json body =
      flags.waiting.wait
          ? wait_until_running(run.api(), id, std::chrono::seconds(flags.waiting.timeout))
          : run.api().get("/api/deploy/apps/" + id + "/status");
  run.out().object(body, body,
                   {{"Name", "subdomain"},
                    {"Status", "status"},
                    {"Phase", "phase"},
                    {"Reason", "reason"},
                    {"Cause", "cause"},
                    {"Message", "message"},
                    {"Health", "health_status"},
                    {"URL", "url"},
                    {"Container", "container_id"}});
  const std::string advice = advice_for(cell(body, "reason"), cell(body, "subdomain"));
  if (!advice.empty()) say(advice);
}

// What the server refuses to tell is left out, and the reason stands in `missing`.
void look_up(json& body, const char* what, const std::function<json()>& ask) {
  try {
    body[what] = ask();
  } catch (const Failure& failure) {
    if (failure.exit == Exit::unavailable) throw;
    body["missing"][what] = failure.what();
  }
}

json overview(Run& run) {
  Api& api = run.api();
  const Settings& settings = run.settings();
  json body = {{"server", settings.server}, {"missing", json::object()}};
  body["health"] = api.get("/health", As::nobody);
  Account account = run.store().load(settings.server);
  if (account.session || settings.token)
    look_up(body, "user", [&] { return api.get("/api/auth/me", As::account).at("user"); });
  if (const StoredApp* app = account.find(settings.app))
    body["app"] = {{"name", app->name}, {"id", app->id}};
  look_up(body, "app_points", [&] { return api.get("/api/external/app/balance").at("balance"); });
  look_up(body, "deployments",
          [&] { return api.all("/api/deploy/apps", "deployments").at("deployments"); });
  return body;
}

void status_of_all(Run& run) {
  const json body = overview(run);
  const auto fact = [&](const char* path) {
    const std::string text = cell(body, path);
    return text == "-" ? "" : text;
  };
  run.out().print(body, [&] {
    std::string text = facts_of(
        {{"Server", fact("server") + " (" + fact("health.status") + ", " + fact("health.version") +
                        ", Kubernetes " + fact("health.kubernetes") + ")"},
         {"User", fact("user.username")},
         {"Your points", fact("user.points")},
         {"App", fact("app.name")},
         {"Its points", fact("app_points")}});
    for (const auto& [what, why] : body.at("missing").items())
      if (what == "deployments") text += "\nNo deployments: " + why.get<std::string>() + "\n";
    if (body.contains("deployments"))
      text += "\n" + (body.at("deployments").empty()
                          ? "No deployments yet: `berth init IMAGE` starts one.\n"
                          : Output::table(body.at("deployments"), {{"NAME", "name"},
                                                                   {"STATUS", "status"},
                                                                   {"REASON", "reason"},
                                                                   {"BILLING", "billing_status"},
                                                                   {"IMAGE", "container_image"},
                                                                   {"URL", "url"}}));
    return text;
  });
}

}  // namespace

void add_status_command(CLI::App& parent, Run& run) {
  const auto flags = std::make_shared<StatusFlags>();
  const bool needs_name = parent.get_name() == "deploy";
  CLI::App* command = add_command(
      parent, "status",
      needs_name ? "Show a deployment's status, and why it isn't running"
                 : "Show server, account, app and deployments; or one deployment's status",
      path_in(parent) + "status hello", [&run, flags] {
        if (flags->name.empty())
          status_of_all(run);
        else
          status_of_deployment(run, *flags);
      });
  add_deployment(*command, flags->name)->required(needs_name);
  add_wait(*command, flags->waiting);
}

}  // namespace berth::cli
