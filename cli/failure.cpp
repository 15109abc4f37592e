#include "cli/failure.h"

#include <array>
#include <map>

#include "controller/base/text.h"

namespace berth::cli {
namespace {

constexpr std::array codes = std::to_array<ExitInfo>({
    {Exit::ok, "ok", "success"},
    {Exit::failed, "failed",
     "failure, also if a deployment fails while `--wait` waits, and a difference with "
     "`--exit-code`"},
    {Exit::usage, "usage", "a flag, the configuration or berth.yaml is wrong"},
    {Exit::not_logged_in, "not_logged_in", "not logged in, or the login no longer works"},
    {Exit::forbidden, "forbidden",
     "not allowed: a scope or tier is missing, or the resource belongs to somebody else"},
    {Exit::not_found, "not_found", "what was named doesn't exist"},
    {Exit::conflict, "conflict",
     "a name is taken, or the state of the resource doesn't allow the command"},
    {Exit::invalid, "invalid",
     "the server refused the request because of a field, the balance or a limit"},
    {Exit::unavailable, "unavailable",
     "the server doesn't answer, or still limits the rate after waiting"},
    {Exit::timed_out, "timed_out", "`--wait` took longer than `--timeout`"},
});

// How much of a page that isn't berth's is shown: what fits into a terminal's line.
constexpr size_t shown_of_page = 200;

const std::map<std::string, std::string, std::less<>>& advices() {
  static const std::map<std::string, std::string, std::less<>> table = {
      {"insufficient_scope",
       "See `berth scopes list`. After an admin has approved the scope, `berth login` gets a token "
       "with it."},
      {"invalid_scope",
       "`berth scopes list` shows which scopes are approved for the app; ask for more with `berth "
       "scopes request`."},
      {"forbidden", "It belongs to another app or account; `berth whoami` shows who you are."},
      {"email_not_verified", "Open the link in the mail, or run `berth verify` with its token."},
      {"tier_not_allowed",
       "`berth tiers` lists the tiers; one without auto-approval needs a promotion by an admin."},
      {"exec_not_allowed",
       "`berth tiers` shows which tiers allow it; ask the platform's admins for another one."},
      {"deployment_suspended", "An admin has stopped it; ask the platform's admins."},
      {"account_suspended", "Ask the platform's admins."},
      {"invalid_credentials", "Check the email address and the password."},
      {"totp_required", "The account has a second factor; pass --totp-code."},
      {"invalid_totp", "Codes change every 30 seconds; a recovery code works once."},
      {"insufficient_user_authentication",
       "The login is too old for this: pass --password-stdin, or log in again."},
      {"invalid_client", "The app's secret is wrong or was rotated; see `berth apps use --help`."},
      {"invalid_grant", "Log in again: `berth login`."},
      {"invalid_token", "Log in again: `berth login`."},
      {"token_expired", "Log in again: `berth login`."},
      {"token_revoked", "Log in again: `berth login`."},
      {"wrong_token_type", "This command needs another kind of token; see `berth whoami`."},
      {"subdomain_taken", "Choose another name."},
      {"domain_not_found", "`berth deploy domain NAME --set HOST` claims one."},
      {"domain_taken", "Another operator has this domain; `berth deploy domain` shows more."},
      {"deployment_limit_reached",
       "Delete a deployment (`berth deploy list`), or use another tier (`berth tiers`)."},
      {"build_limit_reached",
       "Wait for a build or cancel one (`berth builds list`), or delete deployments that you don't "
       "need."},
      {"run_limit_reached",
       "Wait for a run or cancel one: `berth runs list DEPLOYMENT` shows them."},
      {"cron_not_found", "`berth crons list DEPLOYMENT` shows those that there are."},
      {"builds_unavailable",
       "`berth up . --local --push-to REPOSITORY` builds with the podman, docker or buildah of "
       "this "
       "machine."},
      {"insufficient_balance", "The app's account needs more points."},
      {"budget_reached", "`berth budget list` shows the budgets, `berth budget set` raises one."},
      {"unsupported_registry", "Only images from the platform's registries are allowed."},
      {"unknown_tier", "`berth tiers` lists the tiers."},
      {"payment_method_unsupported",
       "Choose a tier that is paid in points; `berth tiers` lists them."},
      {"deployment_destroyed", "It was deleted for good; create another one."},
      {"app_limit_reached",
       "Delete an app that you don't need; `berth apps list` shows your apps."},
      {"rate_limited",
       "Each kind of request has a limit for each minute, and each account and network may store a "
       "limited amount in a day; `Retry-After` was too long to wait for, or waiting didn't help."},
  };
  return table;
}

Exit exit_of(int status, const std::string& code) {
  if (code == "deployment_limit_reached" || code == "build_limit_reached") return Exit::invalid;
  if (code == "invalid_scope" || code == "unauthorized_client") return Exit::forbidden;
  if (code == "invalid_grant") return Exit::not_logged_in;
  if (status == 401) return Exit::not_logged_in;
  if (status == 403) return Exit::forbidden;
  if (status == 404) return Exit::not_found;
  if (status == 409) return Exit::conflict;
  if (status == 400 || status == 413 || status == 415 || status == 422) return Exit::invalid;
  if (status == 429 || status >= 500) return Exit::unavailable;
  return Exit::failed;
}

std::string text_in(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

struct Refusal {
  std::string code;
  std::string message;
  json details;
  std::string docs_url = {};
};

// The four forms of errors: nested, simple, OAuth, and the router's own.
Refusal refusal_in(const json& body) {
  if (!body.is_object()) return {};
  if (const auto error = body.find("error"); error != body.end() && error->is_object())
    return {text_in(*error, "code"), text_in(*error, "message"), error->value("details", json()),
            text_in(*error, "docs_url")};
  if (const auto errors = body.find("errors"); errors != body.end() && errors->is_object())
    return {"", text_in(*errors, "detail"), {}};
  std::string message = text_in(body, "message");
  if (message.empty()) message = text_in(body, "error_description");
  return {text_in(body, "error"), message, body.value("details", json())};
}

std::vector<std::string> details_of(const json& details) {
  std::vector<std::string> lines;
  if (!details.is_object()) return lines;
  for (const auto& [field, reasons] : details.items())
    for (const json& reason : reasons.is_array() ? reasons : json::array({reasons}))
      lines.push_back(field + " " +
                      (reason.is_string() ? reason.get<std::string>() : reason.dump()));
  return lines;
}

}  // namespace

std::span<const ExitInfo> exit_codes() { return codes; }

json as_json(const Failure& failure) {
  json error = {{"code", failure.server_code}, {"message", failure.what()}};
  if (failure.server_code.empty())
    for (const ExitInfo& info : codes)
      if (info.exit == failure.exit) error["code"] = info.name;
  if (!failure.details.empty()) error["details"] = failure.details;
  if (!failure.advice.empty()) error["advice"] = failure.advice;
  if (!failure.docs_url.empty()) error["docs_url"] = failure.docs_url;
  error["exit_code"] = int(failure.exit);
  return {{"error", error}};
}

Failure failure_of(const HttpResponse& response) {
  const Refusal refusal = refusal_in(json::parse(response.body, nullptr, false));
  std::string message = refusal.message;
  if (message.empty() && refusal.code.empty() && !response.body.empty())
    message = cut(response.body, shown_of_page);
  if (message.empty()) message = refusal.code.empty() ? "no reason was given" : refusal.code;
  const auto advice = advices().find(refusal.code);
  Failure failure(exit_of(response.status, refusal.code),
                  message + " (" + std::to_string(response.status) +
                      (refusal.code.empty() ? "" : ", " + refusal.code) + ")",
                  advice == advices().end() ? "" : advice->second, refusal.code);
  if (response.status == 404 && refusal.code.empty())
    failure.advice =
        "The server doesn't know this call. Is it berth, and not older than this client?";
  failure.docs_url = refusal.docs_url;
  failure.details = details_of(refusal.details);
  // A single refused field is already named in the message.
  if (failure.details.size() == 1 && failure.details[0] == refusal.message) failure.details.clear();
  return failure;
}

}  // namespace berth::cli
