// Tiers, and the custom domain, costs and usage of a deployment.
#include "cli/commands/commands.h"

namespace berth::cli {
namespace {

// The text of a field; empty if the field is missing.
std::string fact(const json& body, const char* field) {
  const std::string text = cell(body, field);
  return text == "-" ? "" : text;
}

struct DomainFlags {
  std::string name;
  std::string set;
  bool remove = false;
  bool check = false;
};

void show_domain(Run& run, const std::string& id) {
  const json body = run.api().get("/api/deploy/apps/" + id + "/domain");
  run.out().print(body, [&] {
    std::vector<std::vector<std::string>> records;
    for (const json& record : body.at("records"))
      records.push_back({cell(record, "type"), cell(record, "name"), cell(record, "value")});
    return facts_of({{"Domain", cell(body, "domain")},
                     {"State", cell(body, "state")},
                     {"Reason", fact(body, "reason")},
                     {"Message", fact(body, "message")},
                     {"TXT needed because of", fact(body, "txt_reason")},
                     {"Last checked", fact(body, "last_checked_at")},
                     {"Certificate until", fact(body, "expires_at")}}) +
           "\nSet in the DNS:\n" + table_of({"TYPE", "NAME", "VALUE"}, records);
  });
}

void domain(Run& run, const DomainFlags& flags) {
  const std::string id = deployment_id(run.api(), flags.name);
  const std::string path = "/api/deploy/apps/" + id;
  if (!flags.set.empty() || flags.remove) {
    const json wanted = flags.remove ? json(nullptr) : json(flags.set);
    const json answer =
        run.api().call({.method = "PATCH", .path = path, .body = {{"custom_domain", wanted}}});
    if (flags.remove) {
      run.out().done(answer, flags.name + " no longer has a custom domain.");
      return;
    }
  } else if (flags.check) {
    // Setting the same domain again makes the server check its DNS at once.
    const json now = run.api().get(path);
    run.api().call({.method = "PATCH",
                    .path = path,
                    .body = {{"custom_domain", now.value("custom_domain", json())}}});
  }
  show_domain(run, id);
}

void billing(Run& run, const std::string& name) {
  const json body = run.api().get(deployment_path(run.api(), name, "/billing"));
  run.out().print(body, [&] {
    std::vector<std::vector<std::string>> rows;
    for (const json& entry : body.value("history", json::array()))
      rows.push_back({cell(entry, "at"), cell(entry, "kind"), cell(entry, "tier"),
                      cell(entry, "containers"), cell(entry, "amount"),
                      cell(entry, "period_start")});
    return facts_of({{"Status", cell(body, "billing_status")},
                     {"Tier", cell(body, "tier")},
                     {"Containers at most", fact(body, "containers")},
                     {"Points for 30 days", cell(body, "amount")},
                     {"Balance of the app", cell(body, "balance")},
                     {"Held of it", cell(body, "held")},
                     {"Period", cell(body, "period.start") + " to " + cell(body, "period.end")},
                     {"Paid", cell(body, "period.paid")},
                     {"Next renewal", fact(body, "next_renewal")},
                     {"Warned", fact(body, "warned_at")},
                     {"Stops", fact(body, "stops_at")}}) +
           (rows.empty()
                ? ""
                : "\n" +
                      table_of({"WHEN", "WHAT", "TIER", "CONTAINERS", "POINTS", "PERIOD"}, rows));
  });
}

void metrics(Run& run, const std::string& name) {
  const json body = run.api().get(deployment_path(run.api(), name, "/metrics"));
  run.out().print(body, [&] {
    std::vector<std::pair<std::string, std::string>> facts;
    for (const auto& [title, field] :
         {std::pair("CPU (1/1000)", "cpu"), std::pair("Memory (bytes)", "memory"),
          std::pair("Restarts", "restarts"), std::pair("Requests", "requests")}) {
      const std::string text = cell(body, field);
      facts.emplace_back(title, text == "-" ? "unknown" : text);
    }
    return facts_of(facts);
  });
}

// A tier may allow what the platform can't do: without an issuer of certificates, nobody has a
// domain of their own. A server of an earlier version doesn't say which it is.
json rows_of_tiers(const json& body) {
  json rows = body.at("tiers");
  if (body.value("custom_domains", true)) return rows;
  for (json& tier : rows)
    if (tier.value("custom_domain_allowed", false)) tier["custom_domain_allowed"] = "not here";
  return rows;
}

}  // namespace

void add_tier_commands(CLI::App& root, Run& run) {
  add_command(root, "tiers", "List the tiers with their sizes, limits and prices", "berth tiers",
              [&run] {
                const json body = run.api().get("/api/deploy/tiers");
                run.out().list(body, rows_of_tiers(body),
                               {{"TIER", "slug"},
                                {"MEMORY (MB)", "limits.memory_mb"},
                                {"CPUS", "limits.cpus"},
                                {"DEPLOYMENTS", "limits.max_deployments"},
                                {"CONTAINERS", "max_replicas"},
                                {"POINTS A MONTH", "monthly_cost_points"},
                                {"POINTS AN HOUR", "points_per_hour"},
                                {"PAID IN", "payment_method"},
                                {"OWN DOMAIN", "custom_domain_allowed"},
                                {"COMMANDS", "exec_allowed"},
                                {"FOR ALL", "auto_approve"},
                                {"DESCRIPTION", "description"}});
              });
}

void add_billing_commands(CLI::App& deploy, Run& run) {
  const auto flags = std::make_shared<DomainFlags>();
  CLI::App* command = add_command(
      deploy, "domain", "Claim a custom domain, and show the DNS records that it needs",
      "berth deploy domain hello --set shop.example.com", [&run, flags] { domain(run, *flags); });
  add_deployment(*command, flags->name);
  CLI::Option* set = command->add_option("--set", flags->set, "Claim this host name");
  CLI::Option* remove =
      command->add_flag("--remove", flags->remove, "Release the custom domain")->excludes(set);
  command->add_flag("--check", flags->check, "Check the DNS now")->excludes(set)->excludes(remove);

  const auto add_named = [&](const char* name, const char* description, const char* example,
                             void (*action)(Run&, const std::string&)) {
    const auto deployment = std::make_shared<std::string>();
    add_deployment(*add_command(deploy, name, description, example,
                                [&run, deployment, action] { action(run, *deployment); }),
                   *deployment);
  };
  add_named("billing", "Show a deployment's price, its next renewal and its charges",
            "berth deploy billing hello", billing);
  add_named("metrics", "Show what a deployment uses: CPU, memory, restarts and requests",
            "berth deploy metrics hello", metrics);
}

}  // namespace berth::cli
