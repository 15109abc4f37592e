// The command top: what deployments use.
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/watch.h"

namespace berth::cli {
namespace {

constexpr std::int64_t mebibyte = 1024 * 1024;

struct TopFlags {
  std::vector<std::string> names;
  bool watches = false;
};

bool is_called(const json& row, const std::string& name) {
  return row.at("subdomain") == name || row.at("id") == name;
}

bool is_wanted(const json& row, const std::vector<std::string>& names) {
  return names.empty() ||
         std::ranges::any_of(names, [&](const std::string& name) { return is_called(row, name); });
}

// Sends a request for each running deployment, because the API has no list of their usage.
json usage(Run& run, const TopFlags& flags) {
  Api& api = run.api();
  json rows = json::array();
  const json list = api.all("/api/deploy/apps", "deployments");
  for (const std::string& name : flags.names)
    if (std::ranges::none_of(list.at("deployments"),
                             [&](const json& row) { return is_called(row, name); }))
      throw no_deployment(name, list.at("deployments"));
  for (const json& row : list.at("deployments")) {
    if (!is_wanted(row, flags.names)) continue;
    json used = {{"name", row.at("subdomain")},
                 {"id", row.at("id")},
                 {"status", row.at("status")},
                 {"cpu_limit", row.at("cpu_limit_millicores")},
                 {"memory_limit", row.at("memory_limit_mb").get<std::int64_t>() * mebibyte}};
    if (row.at("status") == "running")
      used.update(api.get("/api/deploy/apps/" + row.at("id").get<std::string>() + "/metrics"));
    rows.push_back(used);
  }
  return {{"usage", rows}};
}

std::string share(const json& row, const char* used, const char* limit) {
  if (!row.value(used, json()).is_number() || !row.value(limit, json()).is_number()) return "-";
  const auto most = row.at(limit).get<double>();
  return most <= 0 ? "-" : std::to_string(int(100 * row.at(used).get<double>() / most)) + "%";
}

std::string in_mebibytes(const json& row) {
  const json memory = row.value("memory", json());
  return memory.is_number() ? std::to_string(memory.get<std::int64_t>() / mebibyte) + " Mi" : "-";
}

std::string table(const json& body) {
  std::vector<std::vector<std::string>> rows;
  for (const json& row : body.at("usage"))
    rows.push_back({cell(row, "name"), cell(row, "status"),
                    cell(row, "cpu") == "-" ? "-" : cell(row, "cpu") + "m",
                    share(row, "cpu", "cpu_limit"), in_mebibytes(row),
                    share(row, "memory", "memory_limit"), cell(row, "restarts"),
                    cell(row, "requests")});
  return table_of({"NAME", "STATUS", "CPU", "CPU%", "MEMORY", "MEMORY%", "RESTARTS", "REQUESTS"},
                  rows, Output::paint());
}

void top(Run& run, const TopFlags& flags) {
  if (flags.watches) {
    watch(
        run.settings().format, [&] { return usage(run, flags); }, table);
    return;
  }
  const json body = usage(run, flags);
  run.out().print(body, [&] { return table(body); });
}

}  // namespace

void add_top_command(CLI::App& parent, Run& run) {
  const auto flags = std::make_shared<TopFlags>();
  CLI::App* command =
      add_command(parent, "top", "Show the CPU and memory that deployments use",
                  path_in(parent) + "top --watch", [&run, flags] { top(run, *flags); });
  command->add_option("DEPLOYMENT", flags->names, "Names or ids of deployments; all if left out");
  command->add_flag("--watch,-w", flags->watches,
                    "Show the table again when it changes, until Ctrl-C");
}

}  // namespace berth::cli
