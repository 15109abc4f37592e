// The command up, which makes the deployments match a berth.yaml.
#include <algorithm>
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/commands/up_source.h"
#include "cli/deploy_plan.h"
#include "cli/env_file.h"
#include "cli/files.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "cli/wait.h"
#include "controller/base/text.h"

namespace berth::cli {
namespace {

constexpr size_t most_tried_at_once = 50;  // operations of a dry run, as in the API

struct UpFlags {
  std::string file = "berth.yaml";
  SourceFlags source;  // if a folder is given
  bool dry_run = false;
  bool exit_code = false;
  bool yes = false;
  bool wait = false;
  int timeout = 300;
};

// The server would name the unknown tier, but not the one that was meant.
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
  if (flags.file != "-" && !read_file(flags.file))
    throw Failure(Exit::usage, "there is no file " + flags.file,
                  "Name another one with --file; `berth init IMAGE` writes one.");
  const std::vector<json> orders =
      parse_orders(contents_of(flags.file), flags.file == "-" ? "standard input" : flags.file);
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
  return std::ranges::any_of(plans,
                             [](const Plan& plan) { return plan.kind != Plan::Kind::nothing; });
}

// The failure with the name of the deployment that it is about.
Failure about(const Plan& plan, const Failure& failure) {
  Failure named(failure.exit, plan.name + ": " + failure.what(), failure.advice,
                failure.server_code);
  named.details = failure.details;
  named.docs_url = failure.docs_url;
  return named;
}

// A refusal of the whole dry run says which step has the wrong field: "operations.2.create.port".
std::string with_names(std::string text, const std::vector<Step>& steps, size_t first,
                       const std::vector<Plan>& plans) {
  constexpr std::string_view start = "operations.";
  if (!text.starts_with(start)) return text;
  const size_t end = text.find('.', start.size());
  const auto number = parse_number<size_t>(text.substr(start.size(), end - start.size()));
  const size_t field = end == std::string::npos ? end : text.find('.', end + 1);
  if (!number || first + *number >= steps.size() || field == std::string::npos) return text;
  return plans[steps[first + *number].plan].name + ": " + text.substr(field + 1);
}

// Has the server try the plans, which changes nothing, and takes over what it says. Throws its
// first refusal; the others are reported.
void try_out(Api& api, std::vector<Plan>& plans) {
  const std::vector<Step> steps = steps_of(plans);
  json outcomes = json::array();
  for (size_t first = 0; first < steps.size(); first += most_tried_at_once) {
    json operations = json::array();
    for (size_t i = first; i < std::min(first + most_tried_at_once, steps.size()); ++i)
      operations.push_back(steps[i].operation);
    try {
      const json answer = api.post("/api/deploy/dry-run", {{"operations", operations}});
      for (const json& outcome : answer.at("operations")) outcomes.push_back(outcome);
    } catch (const Failure& failure) {
      if (failure.exit == Exit::not_found && failure.server_code.empty()) {
        say("The server is older than this client and can't try the plan out.");
        return;
      }
      Failure named(failure.exit, with_names(failure.what(), steps, first, plans), failure.advice,
                    failure.server_code);
      for (const std::string& line : failure.details)
        named.details.push_back(with_names(line, steps, first, plans));
      named.docs_url = failure.docs_url;
      throw named;
    }
  }
  std::vector<Failure> refusals;
  for (size_t i = 0; i < steps.size(); ++i) {
    const json& refusal = outcomes.at(i).at("refusal");
    if (refusal.is_null()) continue;
    refusals.push_back(
        about(plans[steps[i].plan], failure_of({.status = refusal.at("status").get<int>(),
                                                .body = json{{"error", refusal}}.dump()})));
  }
  if (refusals.empty()) return learn(plans, steps, outcomes);
  for (size_t i = 1; i < refusals.size(); ++i) say(refusals[i].what());
  throw refusals[0];
}

json apply(Api& api, const Step& step) {
  if (step.operation.contains("create"))
    return api.post("/api/deploy/apps", step.operation.at("create")).at("deployment");
  return api
      .call({.method = "PATCH",
             .path = "/api/deploy/apps/" + step.operation.at("id").get<std::string>(),
             .body = step.operation.at("change")})
      .at("deployment");
}

// Takes one step. If it fails, the message names the deployment; the steps before it have been
// taken.
json applied(Api& api, const Step& step, const Plan& plan) {
  try {
    json row = apply(api, step);
    say(plan.name + (step.releases_domain              ? " gave up its domain for another one"
                     : plan.kind == Plan::Kind::create ? " was created"
                                                       : " was changed"));
    return row;
  } catch (const Failure& failure) {
    throw about(plan, failure);
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
          {"sent_again", plan.unseen},
          {"points", plan.points}};
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

void wait_for(Run& run, const std::string& name, const std::string& id, const UpFlags& flags) {
  say(name + ":");
  say_reason(wait_until_running(run.api(), id, std::chrono::seconds(flags.timeout)));
}

// Waits for the deployments that need no change. One may have failed when it was changed last, and
// who waits wants to know.
void wait_for_unchanged(Run& run, const std::vector<Plan>& plans, const UpFlags& flags) {
  for (const Plan& plan : plans)
    if (plan.kind == Plan::Kind::nothing) wait_for(run, plan.name, plan.id, flags);
}

// Carries the plans out, after a look at them by the server and by the person.
void carry_out(Run& run, std::vector<Plan> plans, const UpFlags& flags) {
  if (has_work(plans)) try_out(run.api(), plans);
  json result = as_json(plans);
  if (flags.dry_run || !has_work(plans)) {
    run.out().print(result, [&] { return all_described(plans); });
    if (flags.exit_code && has_work(plans)) throw Differs();
    if (flags.wait && !flags.dry_run) wait_for_unchanged(run, plans, flags);
    return;
  }
  if (says_text()) std::cerr << all_described(plans);
  confirm("Continue?", flags.yes);
  json rows = json::array();
  for (const Step& step : steps_of(plans)) {
    json row = applied(run.api(), step, plans[step.plan]);
    if (!step.releases_domain) rows.push_back(row);
  }
  // All deployments are requested before the first one is waited for.
  if (flags.wait) {
    for (json& row : rows) {
      const std::string id = row.at("id");
      wait_for(run, row.at("name"), id, flags);
      row = run.api().get("/api/deploy/apps/" + id).at("deployment");
    }
    wait_for_unchanged(run, plans, flags);
  }
  result["deployments"] = rows;
  run.out().list(result, rows, {{"NAME", "name"}, {"STATUS", "status"}, {"URL", "url"}});
}

// Whoever has waited for a build wants to see it run. What costs points is still asked for.
void up_from_source(Run& run, UpFlags flags) {
  const json order = order_for(run, flags.source, flags.file);
  check_tiers(run.api(), {order});
  const json live = live_deployment(run.api(), order.at("name"));
  if (flags.dry_run) return show_source(run, flags.source, order);
  json built = order;
  built["image"] = flags.source.local ? build_locally(flags.source, order)
                                      : build_on_server(run, flags.source, order, live);
  std::vector<Plan> plans = {plan_for(built, live)};
  const bool costs = [&] {
    std::vector<Plan> tried = plans;
    if (has_work(tried)) try_out(run.api(), tried);
    return tried.front().points > 0;
  }();
  flags.yes = flags.yes || !costs;
  flags.wait = true;
  carry_out(run, plans, flags);
}

void up(Run& run, const UpFlags& flags) {
  if (!flags.source.folder.empty()) return up_from_source(run, flags);
  carry_out(run, plans_for(run, flags), flags);
}

}  // namespace

void add_up_command(CLI::App& parent, Run& run) {
  const auto flags = std::make_shared<UpFlags>();
  CLI::App* command = add_command(
      parent, "up",
      "Build a folder's Containerfile and deploy the image; or apply a berth.yaml: show the "
      "differences, then create or change deployments",
      path_in(parent) + "up --file berth.yaml --wait", [&run, flags] { up(run, *flags); });
  CLI::Option* folder = command->add_option(
      "FOLDER", flags->source.folder,
      "Folder with a Containerfile or Dockerfile to build, such as . for the current one");
  command->add_option("--file,-f", flags->file, "File to apply; - reads stdin")
      ->capture_default_str();
  CLI::Option* dry = command->add_flag("--dry-run,-n", flags->dry_run,
                                       "Only show the differences, as the server finds them");
  command
      ->add_flag("--exit-code", flags->exit_code,
                 "With --dry-run: end with 1 if something differs, as `git diff --exit-code` does")
      ->needs(dry);
  command->add_flag("--yes,-y", flags->yes, "Don't ask for confirmation");
  command->add_flag("--wait,-w", flags->wait, "Wait until all of them run, and print each step");
  command
      ->add_option("--timeout", flags->timeout,
                   "Maximum number of seconds to wait for each deployment")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400));
  add_source_flags(*command, flags->source, folder);
}

}  // namespace berth::cli
