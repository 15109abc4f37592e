// The command deploy up, which makes the deployments match a berth.yaml.
#include <algorithm>
#include <iostream>
#include <sstream>

#include "cli/commands/commands.h"
#include "cli/deploy_plan.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "cli/wait.h"

namespace berth::cli {
namespace {

struct UpFlags {
  std::string file = "berth.yaml";
  bool dry_run = false;
  bool yes = false;
  bool wait = false;
  int timeout = 300;
};

std::string all_of_stdin() {
  std::ostringstream content;
  content << std::cin.rdbuf();
  return content.str();
}

// The server would refuse an unknown tier only when the plan is carried out.
void check_tiers(Api& api, const std::vector<json>& orders) {
  std::vector<std::string> slugs;
  for (const json& order : orders) {
    if (!order.contains("tier")) continue;
    if (slugs.empty()) {
      const json body = api.get("/api/deploy/tiers");
      for (const json& tier : body.at("tiers")) slugs.push_back(tier.at("slug"));
    }
    const std::string wanted = order.at("tier");
    if (std::ranges::find(slugs, wanted) == slugs.end())
      throw Failure(
          Exit::invalid,
          cell(order, "name") + ": there is no tier " + wanted + did_you_mean(wanted, slugs),
          "`berth tiers` lists them.");
  }
}

std::vector<Plan> plans_for(Run& run, const UpFlags& flags) {
  const auto text = flags.file == "-" ? std::optional(all_of_stdin()) : read_file(flags.file);
  if (!text)
    throw Failure(Exit::usage, "there is no file " + flags.file,
                  "Name another one with --file; `berth init IMAGE` writes one.");
  const std::vector<json> orders =
      parse_orders(*text, flags.file == "-" ? "standard input" : flags.file);
  check_tiers(run.api(), orders);
  const json live = run.api().all("/api/deploy/apps", "deployments");
  std::vector<Plan> plans;
  for (const json& order : orders) {
    json there;
    for (const json& row : live.at("deployments"))
      if (row.at("subdomain") == order.at("name")) there = row;
    plans.push_back(plan_for(order, there));
  }
  return plans;
}

bool has_work(const std::vector<Plan>& plans) {
  for (const Plan& plan : plans)
    if (plan.kind != Plan::Kind::nothing) return true;
  return false;
}

json apply(Api& api, const Plan& plan) {
  if (plan.kind == Plan::Kind::create) {
    json answer = api.post("/api/deploy/apps", plan.body);
    return answer.at("deployment");
  }
  return api.call({.method = "PATCH", .path = "/api/deploy/apps/" + plan.id, .body = plan.body})
      .at("deployment");
}

// Applies one plan. If it fails, the message names the deployment; those before it have been
// applied.
json applied(Api& api, const Plan& plan) {
  try {
    json row = apply(api, plan);
    say(plan.name + (plan.kind == Plan::Kind::create ? " was created" : " was changed"));
    return row;
  } catch (const Failure& failure) {
    Failure named(failure.exit, plan.name + ": " + failure.what(), failure.advice,
                  failure.server_code);
    named.details = failure.details;
    named.docs_url = failure.docs_url;
    throw named;
  }
}

json plan_as_json(const Plan& plan) {
  json changes = json::array();
  for (const Change& change : plan.changes)
    changes.push_back({{"field", change.field}, {"from", change.from}, {"to", change.to}});
  return {{"name", plan.name},
          {"action", plan.kind == Plan::Kind::create  ? "create"
                     : plan.kind == Plan::Kind::patch ? "change"
                                                      : "nothing"},
          {"changes", changes},
          {"sent_again", plan.unseen}};
}

std::string all_described(const std::vector<Plan>& plans) {
  std::string text;
  for (const Plan& plan : plans) text += describe(plan);
  return text;
}

json as_json(const std::vector<Plan>& plans) {
  json list = json::array();
  for (const Plan& plan : plans) list.push_back(plan_as_json(plan));
  return {{"plan", list}};
}

void up(Run& run, const UpFlags& flags) {
  const std::vector<Plan> plans = plans_for(run, flags);
  json result = as_json(plans);
  if (flags.dry_run || !has_work(plans)) {
    run.out().print(result, [&] { return all_described(plans); });
    return;
  }
  if (says_text()) std::cerr << all_described(plans);
  confirm("Continue?", flags.yes);
  json rows = json::array();
  for (const Plan& plan : plans)
    if (plan.kind != Plan::Kind::nothing) rows.push_back(applied(run.api(), plan));
  // All deployments are requested before the first one is waited for.
  if (flags.wait)
    for (json& row : rows) {
      const std::string id = row.at("id");
      say(row.at("name").get<std::string>() + ":");
      wait_until_running(run.api(), id, std::chrono::seconds(flags.timeout));
      row = run.api().get("/api/deploy/apps/" + id).at("deployment");
    }
  result["deployments"] = rows;
  run.out().list(result, rows, {{"NAME", "name"}, {"STATUS", "status"}, {"URL", "url"}});
}

}  // namespace

void add_up_command(CLI::App& deploy, Run& run) {
  const auto flags = std::make_shared<UpFlags>();
  CLI::App* command = add_command(
      deploy, "up", "Apply a berth.yaml: show the differences, then create or change deployments",
      "berth deploy up --file berth.yaml --wait", [&run, flags] { up(run, *flags); });
  command->add_option("--file,-f", flags->file, "File to apply; - reads stdin")
      ->capture_default_str();
  command->add_flag("--dry-run,-n", flags->dry_run, "Only show the differences");
  command->add_flag("--yes,-y", flags->yes, "Don't ask for confirmation");
  command->add_flag("--wait,-w", flags->wait, "Wait until all of them run, and print each step");
  command
      ->add_option("--timeout", flags->timeout,
                   "Greatest number of seconds to wait for each deployment")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400));
}

}  // namespace berth::cli
