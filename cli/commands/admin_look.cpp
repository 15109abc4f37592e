// An admin's looks at everybody's deployments, and at one user, app or deployment; and refunds.
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

constexpr const char* deployments_path = "/api/internal/deploy/apps";

struct LookFlags {
  std::string search;
  std::string status;
  std::string tier;
  std::string billing;
  size_t limit = 100;
  std::string kind;
  std::string id;
  std::string amount;
  std::string reason;
  bool yes = false;
};
using SharedLookFlags = std::shared_ptr<LookFlags>;

const std::vector<Column> deployment_columns = {
    {"NAME", "name"},   {"STATUS", "status"},          {"REASON", "reason"},
    {"TIER", "tier"},   {"BILLING", "billing_status"}, {"APP", "app_name"},
    {"OWNER", "owner"}, {"IMAGE", "container_image"},  {"ID", "id"}};

void list_deployments(Run& run, const LookFlags& flags) {
  std::vector<std::pair<std::string, std::string>> query;
  if (!flags.search.empty()) query.emplace_back("q", flags.search);
  if (!flags.status.empty()) query.emplace_back("status", flags.status);
  if (!flags.tier.empty()) query.emplace_back("tier", flags.tier);
  if (!flags.billing.empty()) query.emplace_back("billing", flags.billing);
  const std::string path =
      std::string(deployments_path) + (query.empty() ? "" : "?" + encoded(query));
  const json body = run.api().all(path, "deployments", As::admin, flags.limit);
  run.out().list(body, body.at("deployments"), deployment_columns);
}

void show(Run& run, const LookFlags& flags) {
  const std::string path = flags.kind == "user"  ? "/api/internal/users/"
                           : flags.kind == "app" ? "/api/internal/apps/"
                                                 : std::string(deployments_path) + "/";
  const json body = run.api().get(path + percent_encode(flags.id), As::admin);
  const json& subject = body.at(flags.kind);
  if (flags.kind == "user")
    run.out().object(body, subject,
                     {{"Name", "username"},
                      {"Email", "email"},
                      {"Tier", "tier"},
                      {"Points", "points"},
                      {"Admin", "admin_role"},
                      {"Second factor", "totp_enabled"},
                      {"Suspended", "suspended"},
                      {"Since", "inserted_at"}});
  else if (flags.kind == "app")
    run.out().object(body, subject,
                     {{"Name", "app_name"},
                      {"Owner", "owner"},
                      {"Client id", "client_id"},
                      {"Scopes", "approved_scopes"},
                      {"Promoted to", "promoted_tier"},
                      {"Suspended", "suspended"},
                      {"Since", "inserted_at"}});
  else
    run.out().object(body, subject,
                     {{"Name", "name"},
                      {"App", "app_name"},
                      {"Owner", "owner"},
                      {"Status", "status"},
                      {"Reason", "reason"},
                      {"Image", "container_image"},
                      {"Tier", "tier"},
                      {"Billing", "billing_status"},
                      {"URL", "url"},
                      {"Suspended", "suspended"},
                      {"Since", "inserted_at"}});
}

void search(Run& run, const LookFlags& flags) {
  const json body =
      run.api().get("/api/internal/search?q=" + percent_encode(flags.search), As::admin);
  json found = json::array();
  const auto add = [&](const char* list, const char* kind, const char* name, const char* about) {
    for (const json& one : body.at(list))
      found.push_back({{"kind", kind},
                       {"name", one.at(name)},
                       {"about", one.value(about, json())},
                       {"id", one.at("id")}});
  };
  add("users", "user", "username", "email");
  add("apps", "app", "app_name", "owner");
  add("deployments", "deployment", "name", "owner");
  run.out().list(body, found,
                 {{"KIND", "kind"}, {"NAME", "name"}, {"ABOUT", "about"}, {"ID", "id"}});
}

void refund(Run& run, const LookFlags& flags) {
  confirm("Give back " + flags.amount + " points for the deployment " + flags.id + "?", flags.yes);
  const json answer =
      run.api().post(std::string(deployments_path) + "/" + percent_encode(flags.id) + "/refund",
                     {{"amount", std::stoll(flags.amount)}, {"reason", flags.reason}}, As::admin);
  if (!says_proposal(run, answer))
    run.out().done(answer, flags.amount + " points were given back; the app has " +
                               cell(answer, "balance") + " now.");
}

void refund_spend(Run& run, const LookFlags& flags) {
  confirm("Give back " + flags.amount + " points of the spend " + flags.id + "?", flags.yes);
  const json answer = run.api().post(
      "/api/internal/points/refunds",
      {{"spend_id", flags.id}, {"amount", std::stoll(flags.amount)}, {"reason", flags.reason}},
      As::admin);
  if (!says_proposal(run, answer))
    run.out().done(answer, flags.amount + " points were given back; " + cell(answer, "refundable") +
                               " of the spend are left.");
}

}  // namespace

void add_admin_look_commands(CLI::App& admin, Run& run) {
  const SharedLookFlags listed = std::make_shared<LookFlags>();
  CLI::App* list = add_command(admin, "deployments", "List the deployments of all apps",
                               "berth admin deployments --status errored",
                               [&run, listed] { list_deployments(run, *listed); });
  list->add_option(
      "--search", listed->search,
      "Only those whose name or custom domain begins with this, or that have this owner or id");
  list->add_option("--status", listed->status, "Only those with this status")
      ->check(CLI::IsMember({"pending", "deploying", "running", "stopped", "errored"}));
  list->add_option("--tier", listed->tier, "Only those on this tier, by its slug");
  list->add_option("--billing", listed->billing, "Only those with this state of billing")
      ->check(CLI::IsMember({"current", "warning", "suspended", "exempt"}));
  list->add_option("--limit", listed->limit, "Maximum number of deployments")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), most_items));
  const SharedLookFlags shown = std::make_shared<LookFlags>();
  CLI::App* one = add_command(admin, "show", "Show any user, app or deployment",
                              "berth admin show deployment 01936f5e-7c1a-7000-8000-000000000005",
                              [&run, shown] { show(run, *shown); });
  one->add_option("KIND", shown->kind, "Kind")
      ->required()
      ->check(CLI::IsMember({"user", "app", "deployment"}));
  one->add_option("ID", shown->id, "Id, which `berth admin search` finds")->required();
  const SharedLookFlags wanted = std::make_shared<LookFlags>();
  add_command(admin, "search", "Find users, apps and deployments", "berth admin search ada",
              [&run, wanted] { search(run, *wanted); })
      ->add_option("TEXT", wanted->search,
                   "The beginning of an address, a name or a domain, or an id")
      ->required();
  const SharedLookFlags back = std::make_shared<LookFlags>();
  CLI::App* points = add_command(
      admin, "refund", "Give an app back what one of its deployments was charged",
      "berth admin refund 01936f5e-7c1a-7000-8000-000000000005 100 --reason \"The node was down\"",
      [&run, back] { refund(run, *back); });
  points->add_option("DEPLOYMENT", back->id, "Id of the deployment")->required();
  points->add_option("POINTS", back->amount, "Number of points")->required()->check(check_points);
  points->add_option("--reason", back->reason, "Reason, for the audit log")->required();
  points->add_flag("--yes,-y", back->yes, "Don't ask");
  const SharedLookFlags spent = std::make_shared<LookFlags>();
  CLI::App* spend = add_command(
      admin, "refund-spend", "Give a user back what they spent in an app, from the app's points",
      "berth admin refund-spend 01936f5e-7c1a-7000-8000-000000000007 5 --reason \"It was broken\"",
      [&run, spent] { refund_spend(run, *spent); });
  spend->add_option("SPEND", spent->id, "Id of the spend")->required();
  spend->add_option("POINTS", spent->amount, "Number of points")->required()->check(check_points);
  spend->add_option("--reason", spent->reason, "Reason, for the audit log and the user")
      ->required();
  spend->add_flag("--yes,-y", spent->yes, "Don't ask");
}

}  // namespace berth::cli
