// The hidden command that the scripts of completion call: names that the server knows.
#include <iostream>

#include "cli/commands/commands.h"

namespace berth::cli {
namespace {

constexpr std::chrono::milliseconds longest_completion{2'000};  // somebody has pressed Tab
constexpr const char* first_page = "?page_size=100";

struct Kind {
  std::string path;
  std::string list;
  std::string field;
  As as = As::app;
};

Kind kind_of(Run& run, const std::string& name) {
  if (name == "deployments") return {"/api/deploy/apps", "deployments", "subdomain"};
  if (name == "apps") return {"/api/oauth/my-apps", "apps", "app_name", As::account};
  if (name == "campaigns") return {"/api/external/campaigns", "campaigns", "name"};
  if (name == "tiers") return {"/api/deploy/tiers", "tiers", "slug"};
  if (name == "sessions") return {"/api/auth/sessions", "sessions", "id", As::account};
  if (name == "webhooks")
    return {"/api/operator/apps/" + app_id(run, "") + "/webhooks", "webhooks", "url", As::account};
  if (name == "requests")
    return run.settings().internal_secret
               ? Kind{"/api/internal/scope-requests", "scope_requests", "id", As::admin}
               : Kind{"/api/oauth/my-apps/" + app_id(run, "") + "/scope-requests", "scope_requests",
                      "id", As::account};
  throw Failure(Exit::usage, "there are no names of " + name);
}

void names(Run& run, const std::string& name) {
  const Kind kind = kind_of(run, name);
  const bool has_pages = name != "tiers";
  const json body = run.api().call({.path = kind.path + (has_pages ? first_page : ""),
                                    .as = kind.as,
                                    .time = longest_completion,
                                    .patient = false});
  for (const json& item : body.at(kind.list))
    std::cout << printable(cell(item, kind.field)) << "\n";
}

}  // namespace

void add_names_command(CLI::App& root, Run& run) {
  const auto kind = std::make_shared<std::string>();
  CLI::App* command = add_command(root, "__names", "Print the names that completion offers",
                                  "berth __names deployments", [&run, kind] { names(run, *kind); });
  command->add_option("KIND", *kind, "deployments, apps, campaigns, …")->required();
  command->group("");
}

}  // namespace berth::cli
