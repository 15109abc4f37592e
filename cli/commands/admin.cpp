// Commands for the platform's administrators, who use the internal secret instead of an account.
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "controller/base/text.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

struct AdminFlags {
  std::vector<std::string> requests;
  bool all = false;
  std::string reason;
  std::string app;
  std::string tier;
  std::string kind = "app";
  std::string id;
  std::string amount;
  std::vector<std::string> scopes;
  bool yes = false;
};
using SharedAdminFlags = std::shared_ptr<AdminFlags>;

constexpr const char* requests_path = "/api/internal/scope-requests";

json pending(Run& run) {
  return run.api().all(std::string(requests_path) + "?status=pending", "scope_requests", As::admin);
}

const std::vector<Column> scope_request_columns = {
    {"REQUEST", "id"},       {"APP", "app_name"},
    {"OWNER", "owner"},      {"SCOPES", "requested_scopes"},
    {"TIER", "tier"},        {"APP ID", "app_id"},
    {"ASKED", "inserted_at"}};

// Returns the ids of the requests to decide. --all lists who asks for what and asks for
// confirmation, because an approval gives strangers access to what the scope opens.
std::vector<std::string> chosen(Run& run, const AdminFlags& flags) {
  if (flags.all == !flags.requests.empty())
    throw Failure(Exit::usage, "no scope requests were named",
                  "Name their ids (`berth admin requests` lists them), or pass --all.");
  if (!flags.all) return flags.requests;
  const json waiting = pending(run).at("scope_requests");
  if (waiting.empty()) return {};
  for (const json& request : waiting)
    say(cell(request, "app_name") + " of " + cell(request, "owner") + " asks for " +
        what_is_asked(request) + " (app " + cell(request, "app_id") + ")");
  confirm("Approve " + std::string(waiting.size() == 1 ? "it" : "all of them") + "?", flags.yes);
  std::vector<std::string> ids;
  for (const json& request : waiting) ids.push_back(request.at("id"));
  return ids;
}

void decide(Run& run, const std::vector<std::string>& ids, const std::string& decision,
            const json& body) {
  json decided = json::array();
  for (const std::string& id : ids)
    decided.push_back(run.api().post(
        std::string(requests_path) + "/" + percent_encode(id) + "/" + decision, body, As::admin));
  run.out().list(
      {{"scope_requests", decided}}, decided,
      {{"REQUEST", "id"}, {"APP", "app_id"}, {"SCOPES", "requested_scopes"}, {"STATUS", "status"}});
}

void add_requests(CLI::App& admin, Run& run) {
  add_command(admin, "requests", "List the scope requests that wait for a decision",
              "berth admin requests", [&run] {
                const json body = pending(run);
                run.out().list(body, body.at("scope_requests"), scope_request_columns);
              });
  const SharedAdminFlags good = std::make_shared<AdminFlags>();
  CLI::App* approve =
      add_command(admin, "approve", "Approve scope requests", "berth admin approve --all",
                  [&run, good] { decide(run, chosen(run, *good), "approve", nullptr); });
  approve->add_option("REQUEST", good->requests, "Ids of the requests");
  approve->add_flag("--all", good->all, "Approve all waiting requests, after showing them");
  approve->add_flag("--yes,-y", good->yes, "Don't ask");
  const SharedAdminFlags bad = std::make_shared<AdminFlags>();
  CLI::App* reject = add_command(admin, "reject", "Reject scope requests",
                                 "berth admin reject 01936f5e-7c1a-7000-8000-000000000003 "
                                 "--reason \"Say what for\"",
                                 [&run, bad] {
                                   decide(run, bad->requests, "reject", {{"reason", bad->reason}});
                                 });
  reject->add_option("REQUEST", bad->requests, "Ids of the requests")->required();
  reject->add_option("--reason", bad->reason, "Reason, which the app's owner will read")
      ->required();
}

void add_grants(CLI::App& admin, Run& run) {
  const SharedAdminFlags promotion = std::make_shared<AdminFlags>();
  CLI::App* promote = add_command(
      admin, "promote", "Promote an app to a tier", "berth admin promote basic", [&run, promotion] {
        const json answer =
            run.api().post("/api/internal/apps/" + app_id(run, promotion->app) + "/promote",
                           {{"tier", promotion->tier}}, As::admin);
        run.out().done(answer, "The app may use the tier " + promotion->tier + ".");
      });
  promote->add_option("TIER", promotion->tier, "Tier, by its slug")->required();
  promote->add_option("--for", promotion->app, "Id of the app; by default the current one");
  const SharedAdminFlags mint = std::make_shared<AdminFlags>();
  CLI::App* points = add_command(
      admin, "mint", "Mint points", "berth admin mint 5000 --reason \"Thanks for testing\"",
      [&run, mint] {
        json account = {{"kind", mint->kind}};
        if (mint->kind == "app") account["id"] = app_id(run, mint->id);
        if (mint->kind == "user") account["id"] = mint->id;
        const json answer = run.api().post(
            "/api/internal/points/mint",
            {{"account", account}, {"amount", std::stoll(mint->amount)}, {"reason", mint->reason}},
            As::admin);
        run.out().done(answer, mint->amount + " points were minted.");
      });
  points->add_option("POINTS", mint->amount, "Number of points")->required()->check(check_points);
  points->add_option("--account", mint->kind, "Kind of account that gets the points")
      ->capture_default_str()
      ->check(CLI::IsMember({"app", "user", "treasury"}));
  points->add_option("--id", mint->id, "Id of the app or user; by default the current app");
  points->add_option("--reason", mint->reason, "Reason, for the audit log")->required();
}

void revoke(Run& run, const AdminFlags& flags) {
  const std::vector<std::string> scopes = split(flags.scopes);
  const std::string list = joined(scopes, ", ");
  const std::string id = app_id(run, flags.app);
  confirm("Take " + list + " away from the app " + id + "? Its tokens lose it at once", flags.yes);
  const json answer = run.api().post("/api/internal/apps/" + id + "/scopes/revoke",
                                     {{"scopes", scopes}}, As::admin);
  run.out().done(answer, "The app " + id + " no longer has " + list + ".");
}

void add_revocation(CLI::App& admin, Run& run) {
  const SharedAdminFlags flags = std::make_shared<AdminFlags>();
  CLI::App* command =
      add_command(admin, "revoke", "Take approved scopes away from an app and its tokens",
                  "berth admin revoke deploy:manage --for 01936f5e-7c1a-7000-8000-000000000002",
                  [&run, flags] { revoke(run, *flags); });
  command->add_option("SCOPE", flags->scopes, "Scopes, separated by spaces or commas")->required();
  command->add_option("--for", flags->app, "Id of the app; by default the current one");
  command->add_flag("--yes,-y", flags->yes, "Don't ask");
}

}  // namespace

void add_admin_commands(CLI::App& root, Run& run) {
  CLI::App* admin = add_group(root, "admin", "Administer the platform, with its internal secret");
  admin
      ->add_option("--secret-file", run.flags.secret_file,
                   "File with the secret; by default BERTH_INTERNAL_SECRET is used")
      ->check(CLI::ExistingFile);
  add_requests(*admin, run);
  add_grants(*admin, run);
  add_revocation(*admin, run);
  add_admin_look_commands(*admin, run);
  add_admin_people_commands(*admin, run);
  add_admin_secret_commands(*admin, run);
  add_admin_refund_commands(*admin, run);
  add_admin_platform_commands(*admin, run);
}

}  // namespace berth::cli
