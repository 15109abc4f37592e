// Personal tokens: what programs of one person's own may do in their name.
#include <iostream>

#include "cli/commands/account.h"
#include "cli/commands/commands.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

const std::string tokens_path = "/api/auth/tokens";
constexpr int usual_days = 90;
constexpr int most_days = 365;

struct TokenFlags {
  std::string name;
  std::vector<std::string> scopes;
  int days = usual_days;
  std::string app;
  std::string deployment;
  bool password_stdin = false;
  bool yes = false;
};
using SharedTokenFlags = std::shared_ptr<TokenFlags>;

// The token is all that stdout gets, so that a pipe can store it; it is shown only now.
void create(Run& run, const TokenFlags& flags) {
  json body = {
      {"name", flags.name}, {"scopes", split(flags.scopes)}, {"expires_in_days", flags.days}};
  if (!flags.app.empty()) body["app_id"] = app_id(run, flags.app);
  if (!flags.deployment.empty()) body["deployment_id"] = deployment_id(run.api(), flags.deployment);
  const json answer =
      call_with_proof(run, {.method = "POST", .path = tokens_path, .as = As::account, .body = body},
                      flags.password_stdin);
  const json& made = answer.at("personal_token");
  if (run.out().format() == Format::table)
    say("This token is shown only now. It works until " + cell(made, "expires_at") +
        ", for what your role in each app allows.");
  run.out().print(answer, [&] { return answer.at("token").get<std::string>() + "\n"; });
}

json all_tokens(Run& run) { return run.api().get(tokens_path, As::account); }

// A token is named by its id or, if only one is called that, by its name.
json find_token(Run& run, const std::string& token) {
  std::vector<json> found;
  std::vector<std::string> names;
  const json all = all_tokens(run);
  for (const json& one : all.at("tokens")) {
    if (one.at("id") == token || one.at("name") == token) found.push_back(one);
    names.push_back(one.at("name"));
  }
  if (found.size() == 1) return found[0];
  throw Failure(found.empty() ? Exit::not_found : Exit::usage,
                found.empty() ? "there is no personal token " + token + did_you_mean(token, names)
                              : "several tokens are called " + token + ": name one by its id",
                "`berth tokens list` shows them.");
}

void revoke(Run& run, const TokenFlags& flags) {
  const json token = find_token(run, flags.name);
  confirm("Programs that use the token " + cell(token, "name") + " stop working. Continue?",
          flags.yes);
  const json answer =
      run.api().call({.method = "DELETE",
                      .path = tokens_path + "/" + percent_encode(token.at("id").get<std::string>()),
                      .as = As::account});
  run.out().done(answer, "The token no longer works.");
}

// Whoever finds a token in a public place can end it, without an account.
void report_token(Run& run) {
  const std::string token =
      is_interactive() ? ask_secret("Token", "Pass it on stdin.") : secret_from_stdin("the token");
  const json answer = run.api().post("/api/tokens/report", {{"token", token}}, As::nobody);
  run.out().done(answer,
                 "Thank you. If it is a token that works, it is revoked, and its owner is "
                 "told.");
}

void add_token_creation(CLI::App& group, Run& run) {
  const SharedTokenFlags made = std::make_shared<TokenFlags>();
  CLI::App* command =
      add_command(group, "create", "Make a personal token, which is printed once, alone on stdout",
                  "berth tokens create laptop --scopes deploy:read,logs:read",
                  [&run, made] { create(run, *made); });
  command->add_option("NAME", made->name, "What you call it")->required();
  command
      ->add_option("--scopes", made->scopes,
                   "What it may do, such as deploy:read, logs:read and deploy:write; never more "
                   "than you may; may be repeated")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--days", made->days, "After how many days it ends")
      ->capture_default_str()
      ->check(CLI::Range(1, most_days));
  command->add_option("--for", made->app, "The only app that it is for; by default all apps");
  command->add_option("--deployment", made->deployment,
                      "The only deployment that it is for, by its name or id");
  command->add_flag("--password-stdin", made->password_stdin,
                    "Read the password, which this may need, from stdin instead of asking");
}

}  // namespace

void add_token_commands(CLI::App& root, Run& run) {
  CLI::App* group = add_group(root, "tokens", "Personal tokens, for programs of your own");
  add_command(*group, "list", "List your personal tokens, and when each was last used",
              "berth tokens list", [&run] {
                const json body = all_tokens(run);
                run.out().list(body, body.at("tokens"),
                               {{"NAME", "name"},
                                {"ENDS WITH", "hint"},
                                {"SCOPES", "scopes"},
                                {"APP", "app_id"},
                                {"DEPLOYMENT", "deployment_id"},
                                {"UNTIL", "expires_at"},
                                {"LAST USED", "last_used_at"},
                                {"FROM", "last_used_from"},
                                {"ID", "id"}});
              });
  add_token_creation(*group, run);
  const SharedTokenFlags gone = std::make_shared<TokenFlags>();
  CLI::App* end = add_command(*group, "revoke", "End a personal token at once",
                              "berth tokens revoke laptop", [&run, gone] { revoke(run, *gone); });
  end->add_option("PERSONAL-TOKEN", gone->name, "Id or name of the token")->required();
  end->add_flag("--yes,-y", gone->yes, "Don't ask for confirmation");
  add_command(*group, "report",
              "Report a token that you found in a public place, which ends it; it is read from "
              "stdin",
              "berth tokens report < found.txt", [&run] { report_token(run); });
}

}  // namespace berth::cli
