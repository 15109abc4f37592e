#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cli/run.h"

// The commands, one file for each topic. Each file adds its sub-commands to the tree. Completion,
// manual and --help are made from the tree alone, so no command can be missing there. The name of
// an argument says what it takes (DEPLOYMENT, APP, …): completion looks names up by it, see
// names.cpp.
namespace berth::cli {

void add_login_commands(CLI::App& root, Run& run);    // register verify login logout token whoami
void add_app_commands(CLI::App& root, Run& run);      // apps …
void add_scope_commands(CLI::App& root, Run& run);    // scopes …
void add_tier_commands(CLI::App& root, Run& run);     // tiers
void add_account_commands(CLI::App& root, Run& run);  // account …, sessions …, totp …
void add_webhook_commands(CLI::App& root, Run& run);  // webhooks …
void add_alert_commands(CLI::App& root, Run& run);    // alerts …
void add_member_commands(CLI::App& root, Run& run);   // members …, invitations …
void add_token_commands(CLI::App& root, Run& run);    // tokens …
void add_trust_commands(CLI::App& root, Run& run);    // trusts …
void add_deploy_commands(CLI::App& root,
                         Run& run);               // deploy …, with those below that have `deploy`
void add_up_command(CLI::App& parent, Run& run);  // up
void add_build_commands(CLI::App& root, Run& run);           // builds …
void add_run_commands(CLI::App& root, Run& run);             // run, runs …, crons …
void add_events_command(CLI::App& deploy, Run& run);         // deploy events
void add_billing_commands(CLI::App& deploy, Run& run);       // deploy domain, billing, metrics
void add_env_commands(CLI::App& root, Run& run);             // env …
void add_points_commands(CLI::App& root, Run& run);          // points …
void add_points_statement(CLI::App& points, Run& run);       // points statement
void add_app_statement(CLI::App& apps, Run& run);            // apps statement
void add_receipt_commands(CLI::App& root, Run& run);         // receipt …
void add_admin_receipt_commands(CLI::App& admin, Run& run);  // admin receipt, rotate-receipt-key
void add_refund_commands(CLI::App& root, Run& run);          // refunds …
void add_usage_commands(CLI::App& root, Run& run);           // usage, budget …
void add_push_commands(CLI::App& root, Run& run);            // auto-deploy …, preview
void add_campaign_commands(CLI::App& root, Run& run);        // campaigns …
void add_admin_commands(CLI::App& root, Run& run);           // admin …, with the five below
void add_admin_secret_commands(CLI::App& admin, Run& run);   // admin admins, secrets
void add_admin_people_commands(CLI::App& admin, Run& run);   // admin users, suspend, reactivate
void add_admin_look_commands(CLI::App& admin, Run& run);  // admin deployments, show, search, refund
void add_admin_refund_commands(CLI::App& admin, Run& run);  // admin claw-back, proposals, money, …
void add_admin_platform_commands(CLI::App& admin, Run& run);  // admin treasury, audit, tiers, …
void add_audit_command(CLI::App& root, Run& run);             // audit
void add_app_audit_command(CLI::App& apps, Run& run);         // apps audit
void add_admin_audit_command(CLI::App& admin, Run& run);      // admin audit
void add_exec_commands(CLI::App& root, Run& run);             // exec, port-forward
void add_doctor_command(CLI::App& root, Run& run);            // doctor
void add_api_command(CLI::App& root, Run& run);               // api
void add_config_commands(CLI::App& root, Run& run);           // config …, completion, man
void add_names_command(CLI::App& root, Run& run);             // what completion calls; hidden
void add_help_commands(CLI::App& root, Run& run);             // help, version

// These are commands of `deploy`, and of the program itself, because they are typed so often.
// `path_in(parent)` is "berth deploy " or "berth ", for their examples.
std::string path_in(const CLI::App& parent);
void add_shortcut_commands(CLI::App& root, Run& run);  // init, up, and those below
void add_restart_command(CLI::App& parent, Run& run);
void add_delete_command(CLI::App& parent, Run& run);
void add_list_command(CLI::App& parent, Run& run);
void add_status_command(CLI::App& parent, Run& run);
void add_logs_command(CLI::App& parent, Run& run);
void add_top_command(CLI::App& parent, Run& run);
void add_open_command(CLI::App& parent, Run& run);
void add_scale_command(CLI::App& parent, Run& run);
void add_init_command(CLI::App& root, Run& run);

// Adds a command with an action, or a group that only contains commands. The example is a line that
// somebody could type; --help, manual and reference show it. `list` is also called `ls`, and
// `delete` and `remove` are also called `rm`.
CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& description,
                      const std::string& example, std::function<void()> action);
CLI::App* add_group(CLI::App& parent, const std::string& name, const std::string& description);

// If an admin's order has become a proposal, prints that and returns true.
bool says_proposal(Run& run, const json& answer);

// What a request of an app's owner asks for: scopes, and a tier if it asks for one.
std::string what_is_asked(const json& request);

std::string version_line();                        // what --version prints
const std::vector<std::string>& webhook_events();  // the types of events that webhooks can get
const std::vector<std::string>& alert_events();    // those that alerts can tell
// The help of an option that takes some of these types of events. `purpose` is what is done to
// them, such as "send".
std::string help_of_events(const std::string& purpose, const std::vector<std::string>& types);

// The end of the help text of every command.
constexpr const char* flags_footer =
    "Every command also accepts -o, --server, --app and --client-id; see `berth --help`.";

// Adds the argument DEPLOYMENT, which is required.
CLI::Option* add_deployment(CLI::App& command, std::string& deployment);

// Waiting for a deployment: --wait and --timeout.
struct WaitFlags {
  bool wait = false;
  int timeout = 300;  // seconds
};
void add_wait(CLI::App& command, WaitFlags& flags);
// Prints the result of a change of a deployment. Without --wait this is `sentence`; with it, waits
// until the deployment runs and says where. `answer` is the server's answer to the change.
void show_change(Run& run, const json& answer, const WaitFlags& flags, const std::string& sentence);

// Checks that an argument is a number of points: 1 to 2^53-1.
std::string check_points(const std::string& text);

// The id of the caller's deployment with this name or id. The list of names is read once in a run.
// Throws Failure `not_found`.
std::string deployment_id(Api& api, const std::string& name_or_id);
// That failure, with a name of `deployments` that is nearly the same.
Failure no_deployment(const std::string& name, const json& deployments);
// The path of that deployment in the API, followed by `behind`, such as "/logs".
std::string deployment_path(Api& api, const std::string& name_or_id,
                            const std::string& behind = "");
// The id of one of the user's apps, given by id, client id or name; an empty text means the current
// app. Throws Failure `usage`, with the ids, if several apps have the name.
std::string app_id(Run& run, const std::string& app);

// The variables of the file, if its name isn't empty, and of the texts, which take precedence over
// it; see env_file.h. "-" is standard input. Warnings go to stderr.
json variables_from(const std::string& file, const std::vector<std::string>& texts);

bool is_uuid(const std::string& text);
// Splits texts at commas and spaces; a flag may also be given several times.
std::vector<std::string> split(const std::vector<std::string>& texts);

}  // namespace berth::cli
