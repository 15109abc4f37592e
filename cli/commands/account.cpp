// The commands for the user's own account: its data, password and connected apps.
#include "cli/commands/account.h"

#include "cli/commands/commands.h"
#include "cli/suggest.h"
#include "cli/terminal.h"

namespace berth::cli {
namespace {

struct AccountFlags {
  std::string name;
  std::string email;
  std::string code;
  std::string app;
  std::string spend;
  std::string access;
  std::vector<std::string> ids;
  bool password_stdin = false;
  bool keep_others = false;
  bool yes = false;
};
using SharedAccountFlags = std::shared_ptr<AccountFlags>;

constexpr const char* apps_path = "/api/oauth/connected-apps";
constexpr const char* devices_path = "/api/auth/devices";

void change_password(Run& run, const AccountFlags& flags) {
  const std::string current = password_of(flags.password_stdin, "Current password");
  const std::string fresh = password_of(flags.password_stdin, "New password");
  if (!flags.password_stdin && password_of(false, "New password again") != fresh)
    throw Failure(Exit::usage, "the two new passwords differ");
  const json answer = run.api().post(
      "/api/auth/change-password",
      {{"current_password", current}, {"new_password", fresh}, {"end_others", !flags.keep_others}},
      As::account);
  run.out().done(answer, flags.keep_others
                             ? "The password is changed. Your other sessions continue."
                             : "The password is changed, and your other sessions have ended, as "
                               "has the access of programs and apps.");
}

void change_email(Run& run, const AccountFlags& flags) {
  json body = {{"new_email", flags.email}, {"password", password_of(flags.password_stdin)}};
  if (!flags.code.empty()) body["totp_code"] = flags.code;
  const json answer = run.api().post("/api/auth/email-change", body, As::account);
  run.out().done(answer,
                 "A mail is on its way to both addresses; `berth account confirm-email` "
                 "takes the token that " +
                     flags.email + " gets. Until then nothing changes.");
}

void delete_account(Run& run, const AccountFlags& flags) {
  if (!flags.yes) {
    const std::string name = cell(run.api().get("/api/auth/me", As::account), "user.username");
    confirm_name("This deletes the account " + name + " on " + run.settings().server +
                     " for good. Its apps and points are lost.",
                 name, flags.yes);
  }
  const json answer = run.api().call({.method = "DELETE",
                                      .path = "/api/auth/me",
                                      .as = As::account,
                                      .body = {{"password", password_of(flags.password_stdin)}}});
  run.store().update(run.settings().server, [](Account& account) { account = Account(); });
  run.out().done(answer, "The account is deleted.");
}

// A connected app is named by its id or, if only one has it, by its name.
std::string path_of_app(Run& run, const std::string& app) {
  if (is_uuid(app)) return std::string(apps_path) + "/" + app;
  std::vector<std::string> ids, names;
  const json all = run.api().all(apps_path, "connected_apps", As::account);
  for (const json& entry : all.at("connected_apps")) {
    if (entry.at("app_name") == app) ids.push_back(entry.at("app_id"));
    names.push_back(entry.at("app_name"));
  }
  if (ids.size() == 1) return std::string(apps_path) + "/" + ids[0];
  throw Failure(ids.empty() ? Exit::not_found : Exit::usage,
                ids.empty() ? "no app " + app + " is connected" + did_you_mean(app, names)
                            : "several connected apps are called " + app + ": name one by its id",
                "`berth account apps` shows them.");
}

void limit_app(Run& run, const AccountFlags& flags) {
  json body = json::object();
  if (flags.spend == "none")
    body["daily_spend_limit"] = nullptr;
  else if (!flags.spend.empty())
    body["daily_spend_limit"] = std::stoll(flags.spend);
  if (!flags.access.empty()) body["session_access"] = flags.access;
  if (body.empty())
    throw Failure(Exit::usage, "nothing to change", "Pass --daily-spend or --access.");
  const json answer = run.api().call(
      {.method = "PATCH", .path = path_of_app(run, flags.app), .as = As::account, .body = body});
  const std::string spend = cell(answer, "connected_app.daily_spend_limit");
  run.out().done(answer, cell(answer, "connected_app.app_name") + " may spend " +
                             (spend == "-" ? "any number of" : spend) +
                             " points a day, and act for you with " +
                             cell(answer, "connected_app.session_access") + " access.");
}

void disconnect(Run& run, const AccountFlags& flags) {
  const std::string path = path_of_app(run, flags.app);
  confirm("Disconnect " + flags.app + "? Its tokens for you stop working at once", flags.yes);
  const json answer = run.api().call({.method = "DELETE", .path = path, .as = As::account});
  run.out().done(answer, flags.app + " is disconnected.");
}

void add_own_data(CLI::App& account, Run& run) {
  add_command(account, "show", "Show your account", "berth account show", [&run] {
    const json body = run.api().get("/api/auth/me", As::account);
    run.out().object(body, body.at("user"),
                     {{"User name", "username"},
                      {"Id", "id"},
                      {"Email", "email"},
                      {"Verified", "email_verified"},
                      {"Second factor", "totp_enabled"},
                      {"Points", "points"},
                      {"Tier", "tier"},
                      {"Referral code", "referral_code"},
                      {"Users referred", "stats.direct_referrals"},
                      {"Connected apps", "stats.connected_apps"},
                      {"Points earned", "stats.total_earned"},
                      {"Points spent", "stats.total_spent"}});
  });
  const SharedAccountFlags named = std::make_shared<AccountFlags>();
  add_command(account, "rename", "Change your user name", "berth account rename lovelace",
              [&run, named] {
                const json answer = run.api().call({.method = "PATCH",
                                                    .path = "/api/auth/me",
                                                    .as = As::account,
                                                    .body = {{"username", named->name}}});
                run.out().done(answer, "You are " + cell(answer, "user.username") + " now.");
              })
      ->add_option("USERNAME", named->name, "The new name, which others see")
      ->required();
  const SharedAccountFlags secret = std::make_shared<AccountFlags>();
  CLI::App* password = add_command(
      account, "password", "Change your password; other sessions, programs and apps lose access",
      "berth account password", [&run, secret] { change_password(run, *secret); });
  password->add_flag("--password-stdin", secret->password_stdin,
                     "Read two lines from stdin: the current password and the new one");
  password->add_flag("--keep-others", secret->keep_others,
                     "Keep other sessions, and the access of programs and apps");
  const SharedAccountFlags moved = std::make_shared<AccountFlags>();
  CLI::App* email = add_command(account, "email", "Change the email address of your account",
                                "berth account email ada@example.net",
                                [&run, moved] { change_email(run, *moved); });
  email
      ->add_option("EMAIL", moved->email,
                   "The new address; the change takes effect once it is confirmed")
      ->required();
  email->add_option("--totp-code", moved->code,
                    "A code of your authenticator, if you have a second factor");
  email->add_flag("--password-stdin", moved->password_stdin,
                  "Read the password from stdin instead of asking");
  const SharedAccountFlags confirmed = std::make_shared<AccountFlags>();
  add_command(account, "confirm-email", "Confirm a new email address with the token in the mail",
              "berth account confirm-email ec_example",
              [&run, confirmed] {
                run.out().done(run.api().post("/api/auth/email-change/confirm",
                                              {{"token", confirmed->code}}, As::nobody),
                               "The address of your account is changed.");
              })
      ->add_option("TOKEN", confirmed->code, "The token in the mail to the new address")
      ->required();
  add_command(account, "resend-verification", "Send the mail that verifies your address again",
              "berth account resend-verification", [&run] {
                run.out().done(
                    run.api().post("/api/auth/resend-verification", nullptr, As::account),
                    "A mail is on its way; `berth verify` takes the token in it.");
              });
  const SharedAccountFlags end = std::make_shared<AccountFlags>();
  CLI::App* removal =
      add_command(account, "delete", "Delete your account for good", "berth account delete",
                  [&run, end] { delete_account(run, *end); });
  removal->add_flag("--password-stdin", end->password_stdin,
                    "Read the password from stdin instead of asking");
  removal->add_flag("--yes,-y", end->yes, "Don't ask for the user name");
}

void end_devices(Run& run, const AccountFlags& flags) {
  for (const std::string& id : flags.ids)
    if (!is_uuid(id))
      throw Failure(Exit::usage, id + " isn't the id of a device",
                    "`berth account devices` shows them.");
  for (const std::string& id : flags.ids)
    run.api().call(
        {.method = "DELETE", .path = std::string(devices_path) + "/" + id, .as = As::account});
  run.out().done({{"ended", flags.ids}}, flags.ids.size() == 1 ? "The program is disconnected."
                                                               : std::to_string(flags.ids.size()) +
                                                                     " programs are disconnected.");
}

void add_devices(CLI::App& account, Run& run) {
  add_command(account, "devices", "List the programs that have logged in with berth's own client",
              "berth account devices", [&run] {
                const json body = run.api().all(devices_path, "devices", As::account);
                run.out().list(body, body.at("devices"),
                               {{"ID", "id"},
                                {"NAME", "name"},
                                {"THIS ONE", "current"},
                                {"PROGRAM", "program"},
                                {"ADDRESS", "address"},
                                {"SINCE", "connected_at"},
                                {"LAST USED", "last_used"}});
              });
  const SharedAccountFlags gone = std::make_shared<AccountFlags>();
  add_command(account, "end-device",
              "Disconnect programs that have logged in; their tokens stop working at once",
              "berth account end-device 01936f5e-7c1a-7000-8000-000000000008",
              [&run, gone] { end_devices(run, *gone); })
      ->add_option("DEVICE", gone->ids, "Ids of the devices")
      ->required();
}

std::string check_spend(const std::string& text) {
  return text == "none" || text == "0" ? "" : check_points(text);
}

void add_connected_apps(CLI::App& account, Run& run) {
  add_command(account, "apps", "List the apps that may act for you", "berth account apps", [&run] {
    const json body = run.api().all(apps_path, "connected_apps", As::account);
    run.out().list(body, body.at("connected_apps"),
                   {{"NAME", "app_name"},
                    {"ID", "app_id"},
                    {"SCOPES", "scopes"},
                    {"SPENT TODAY", "spent_today"},
                    {"LIMIT", "daily_spend_limit"},
                    {"ACCESS", "session_access"},
                    {"LAST USED", "last_used"}});
  });
  const SharedAccountFlags limited = std::make_shared<AccountFlags>();
  CLI::App* limit = add_command(account, "limit", "Limit what a connected app may do",
                                "berth account limit \"My game\" --daily-spend 100 --access read",
                                [&run, limited] { limit_app(run, *limited); });
  limit->add_option("CONNECTED-APP", limited->app, "Name or id of the app")->required();
  limit->add_option("--daily-spend", limited->spend, "Points that it may spend in a day, or none")
      ->check(check_spend);
  limit->add_option("--access", limited->access, "What its session tokens may do")
      ->check(CLI::IsMember({"full", "read"}));
  const SharedAccountFlags gone = std::make_shared<AccountFlags>();
  CLI::App* end =
      add_command(account, "disconnect", "End an app's access to your account",
                  "berth account disconnect \"My game\"", [&run, gone] { disconnect(run, *gone); });
  end->add_option("CONNECTED-APP", gone->app, "Name or id of the app")->required();
  end->add_flag("--yes,-y", gone->yes, "Don't ask");
}

}  // namespace

std::string password_of(bool from_stdin, const std::string& question) {
  if (from_stdin) return secret_from_stdin("password");
  return ask_secret(question, "Pass --password-stdin.");
}

json call_with_proof(Run& run, Call call, bool password_stdin) {
  if (!password_stdin) {
    try {
      return run.api().call(call);
    } catch (const Failure& failure) {
      if (failure.server_code != "insufficient_user_authentication" || !is_interactive()) throw;
    }
  }
  call.body["password"] = password_of(password_stdin);
  return run.api().call(call);
}

void add_account_commands(CLI::App& root, Run& run) {
  CLI::App* account = add_group(root, "account", "Your account, and the apps that act for you");
  add_own_data(*account, run);
  add_devices(*account, run);
  add_connected_apps(*account, run);
  add_session_commands(root, run);
  add_totp_commands(root, run);
}

}  // namespace berth::cli
