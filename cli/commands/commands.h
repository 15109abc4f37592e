#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cli/run.h"

// The commands, one file for each topic. Each file adds its sub-commands to the tree. Completion,
// manual and --help are made from the tree alone, so no command can be missing there.
namespace berth::cli {

void add_login_commands(CLI::App& root, Run& run);      // register verify login logout token whoami
void add_app_commands(CLI::App& root, Run& run);        // apps …
void add_scope_commands(CLI::App& root, Run& run);      // scopes …
void add_tier_commands(CLI::App& root, Run& run);       // tiers
void add_deploy_commands(CLI::App& root, Run& run);     // deploy …, with the three below
void add_follow_commands(CLI::App& deploy, Run& run);   // deploy logs, events
void add_billing_commands(CLI::App& deploy, Run& run);  // deploy domain, billing, metrics, open
void add_up_command(CLI::App& deploy, Run& run);        // deploy up
void add_campaign_commands(CLI::App& root, Run& run);   // campaigns …
void add_admin_commands(CLI::App& root, Run& run);      // admin …
void add_config_commands(CLI::App& root, Run& run);     // config …, completion, man

// Adds a command with an action, or a group that only contains commands.
CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& description,
                      std::function<void()> action);
CLI::App* add_group(CLI::App& parent, const std::string& name, const std::string& description);

// The id of the caller's deployment with this name or id. Throws Failure `not_found`.
std::string deployment_id(Api& api, const std::string& name_or_id);
std::string deployment_path(Api& api, const std::string& name_or_id,
                            const std::string& behind = "");
// The id of an app of one's own, given by id, client id or name; an empty text means the current
// app.
std::string app_id(Run& run, const std::string& app);

bool is_uuid(const std::string& text);
// Splits texts at commas and spaces; a flag may also be given several times.
std::vector<std::string> split(const std::vector<std::string>& texts);
std::string joined(const std::vector<std::string>& texts, const std::string& between);

}  // namespace berth::cli
