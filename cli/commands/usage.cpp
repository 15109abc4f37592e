// What deployments cost by the hour, and the budgets that limit it.
#include "cli/commands/account.h"
#include "cli/commands/commands.h"

namespace berth::cli {
namespace {

constexpr const char* budgets_path = "/api/operator/budgets";

struct UsageFlags {
  std::string deployment;
  std::string from;
  std::string until;
  size_t limit = 20;
};

std::string price_of(const json& price) {
  std::string text = cell(price, "points_per_hour");
  if (text == "-") text = "none";
  if (price.at("next").is_object()) {
    const std::string next = cell(price, "next.points_per_hour");
    text += "; " + (next == "-" ? "none" : next) + " from " + cell(price, "next.from");
  }
  return text;
}

void usage(Run& run, const UsageFlags& flags) {
  std::vector<std::pair<std::string, std::string>> query;
  for (const auto& [name, value] : {std::pair("from", flags.from), std::pair("to", flags.until)})
    if (!value.empty()) query.emplace_back(name, value);
  const json body = run.api().all(deployment_path(run.api(), flags.deployment, "/usage") +
                                      (query.empty() ? "" : "?" + encoded(query)),
                                  "intervals", As::app, flags.limit);
  run.out().print(body, [&] {
    std::vector<std::vector<std::string>> charges;
    for (const json& charge : body.at("charges"))
      charges.push_back({cell(charge, "date"), cell(charge, "process"), cell(charge, "seconds"),
                         cell(charge, "points"), cell(charge, "unpaid_seconds")});
    std::vector<std::vector<std::string>> intervals;
    for (const json& interval : body.at("intervals"))
      intervals.push_back({cell(interval, "started_at"), cell(interval, "ended_at"),
                           cell(interval, "process"), cell(interval, "seconds")});
    return facts_of({{"Tier", cell(body, "tier")},
                     {"Containers at most", cell(body, "containers")},
                     {"Points for an hour of each", price_of(body.at("price"))},
                     {"Days", cell(body, "from") + " to " + cell(body, "to")},
                     {"Points charged", cell(body, "totals.points")},
                     {"Points not charged yet", cell(body, "accrued")},
                     {"Expected points a day", cell(body, "forecast.points_a_day")}}) +
           (charges.empty()
                ? ""
                : "\n" + table_of({"DAY", "PROCESS", "SECONDS", "POINTS", "UNPAID SECONDS"},
                                  charges)) +
           (intervals.empty()
                ? ""
                : "\n" + table_of({"STARTED", "ENDED", "PROCESS", "SECONDS"}, intervals));
  });
}

struct BudgetFlags {
  std::string points;
  std::string deployment;
  std::string period = "30d";
  std::string at_limit;
  bool password_stdin = false;
};
using SharedBudgetFlags = std::shared_ptr<BudgetFlags>;

void list_budgets(Run& run) {
  const json body = run.api().get(budgets_path);
  const json& account = body.at("account");
  run.out().print(body, [&] {
    return facts_of({{"Balance of the app", cell(account, "balance")},
                     {"Points for an hour", cell(account, "points_per_hour")},
                     {"The points last until", cell(account, "lasts_until")}}) +
           "\n" +
           Output::table(body.at("budgets"), {{"DEPLOYMENT", "deployment_name"},
                                              {"PERIOD", "period"},
                                              {"LIMIT", "limit"},
                                              {"SPENT", "spent"},
                                              {"FORECAST", "forecast"},
                                              {"AT THE LIMIT", "at_limit"},
                                              {"REACHED", "reached"}});
  });
}

// Raising or removing a limit needs the password.
json put_budget(Run& run, json body, bool password_stdin) {
  return call_with_proof(run, {.method = "PUT", .path = budgets_path, .body = std::move(body)},
                         password_stdin);
}

// `limit` is null to remove the budget.
json body_of(Run& run, const BudgetFlags& flags, const json& limit) {
  json body = {{"period", flags.period}, {"limit", limit}};
  if (!flags.deployment.empty()) body["deployment_id"] = deployment_id(run.api(), flags.deployment);
  if (!flags.at_limit.empty()) body["at_limit"] = flags.at_limit;
  return body;
}

std::string whose(const BudgetFlags& flags) {
  return flags.deployment.empty() ? "The app" : flags.deployment;
}

void set_budget(Run& run, const BudgetFlags& flags) {
  const json answer =
      put_budget(run, body_of(run, flags, std::stoll(flags.points)), flags.password_stdin);
  std::string sentence = whose(flags) + " may spend " + flags.points + " points " +
                         (flags.period == "day" ? "on a day." : "in 30 days.");
  if (answer.at("budget").at("reached")) sentence += " It has spent them already.";
  run.out().done(answer, sentence);
}

void remove_budget(Run& run, const BudgetFlags& flags) {
  const json answer = put_budget(run, body_of(run, flags, nullptr), flags.password_stdin);
  run.out().done(answer, whose(flags) + " has no budget for " +
                             (flags.period == "day" ? "a day" : "30 days") + " any more.");
}

void add_scope_of_budget(CLI::App& command, BudgetFlags& flags) {
  command.add_option("--deployment", flags.deployment,
                     "For this deployment, by its name or id; without it for the whole app");
  command.add_option("--period", flags.period, "A day in UTC, or the last 30 days")
      ->capture_default_str()
      ->check(CLI::IsMember({"day", "30d"}));
  command.add_flag("--password-stdin", flags.password_stdin,
                   "Read the password, which raising a limit needs, from stdin instead of asking");
}

}  // namespace

void add_usage_commands(CLI::App& root, Run& run) {
  const auto shown = std::make_shared<UsageFlags>();
  CLI::App* showing = add_command(
      root, "usage", "Show when a deployment's containers ran, and what was charged by the hour",
      "berth usage hello --from 2026-01-01", [&run, shown] { usage(run, *shown); });
  add_deployment(*showing, shown->deployment);
  showing->add_option("--from", shown->from, "First day, in UTC; by default 29 days before --to");
  showing->add_option("--to", shown->until, "Last day, in UTC; by default today");
  showing->add_option("--limit", shown->limit, "Maximum number of runs of containers")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), most_items));

  CLI::App* budget = add_group(root, "budget", "The most that an app or a deployment may spend");
  add_command(*budget, "list", "List the app's budgets, and how much of them is spent",
              "berth budget list", [&run] { list_budgets(run); });
  const SharedBudgetFlags set = std::make_shared<BudgetFlags>();
  CLI::App* setting = add_command(*budget, "set",
                                  "Set what may be spent; a higher limit than before needs your "
                                  "password",
                                  "berth budget set 500 --period day --at-limit stop_metered",
                                  [&run, set] { set_budget(run, *set); });
  setting->add_option("POINTS", set->points, "Number of points")->required()->check(check_points);
  setting
      ->add_option("--at-limit", set->at_limit,
                   "What stops when it is reached: what is priced by the hour, or all")
      ->check(CLI::IsMember({"stop_metered", "stop_all"}));
  add_scope_of_budget(*setting, *set);
  const SharedBudgetFlags gone = std::make_shared<BudgetFlags>();
  CLI::App* removal = add_command(*budget, "remove", "Remove a budget, which needs your password",
                                  "berth budget remove --deployment hello --period day",
                                  [&run, gone] { remove_budget(run, *gone); });
  add_scope_of_budget(*removal, *gone);
}

}  // namespace berth::cli
