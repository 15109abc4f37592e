// Trusts: which jobs of a CI system get tokens for the current app, without a stored secret.
#include "cli/commands/commands.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

// The issuers that everybody uses have short names.
const std::vector<std::pair<std::string, std::string>> known_issuers = {
    {"github", "https://token.actions.githubusercontent.com"}, {"gitlab", "https://gitlab.com"}};

struct TrustFlags {
  std::string trust;
  std::string issuer;
  std::string audience;
  std::vector<std::string> claims;
  std::vector<std::string> deployments;
  std::vector<std::string> scopes;
  std::string name;
  bool yes = false;
};
using SharedTrustFlags = std::shared_ptr<TrustFlags>;

std::string trusts_path(Run& run, const std::string& behind = "") {
  return "/api/oauth/my-apps/" + app_id(run, "") + "/trusts" + behind;
}

std::string issuer_of(const std::string& word) {
  for (const auto& [name, url] : known_issuers)
    if (word == name) return url;
  return word;
}

// NAME=VALUE; a name that is given several times allows each of the values.
json claims_of(const std::vector<std::string>& texts) {
  json claims = json::object();
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    if (at == std::string::npos || at == 0)
      throw Failure(Exit::usage, "the claim " + text + " isn't NAME=VALUE",
                    "Such as --claim repository_id=123456.");
    const std::string name = text.substr(0, at), value = text.substr(at + 1);
    if (!claims.contains(name)) {
      claims[name] = value;
    } else {
      if (!claims[name].is_array()) claims[name] = json::array({claims[name]});
      claims[name].push_back(value);
    }
  }
  return claims;
}

// The claims as a person reads them: ref is refs/heads/main or refs/heads/next.
std::string in_words(const json& claims) {
  std::string text;
  for (const auto& [name, value] : claims.items()) {
    if (!text.empty()) text += ", ";
    text += name + "=";
    if (value.is_string()) text += value.get<std::string>();
    if (!value.is_array()) continue;
    std::string values;
    for (const json& one : value)
      values +=
          (values.empty() ? "" : "|") + (one.is_string() ? one.get<std::string>() : one.dump());
    text += values;
  }
  return text;
}

json all_trusts(Run& run) { return run.api().get(trusts_path(run), As::account); }

void list_trusts(Run& run) {
  const json body = all_trusts(run);
  json rows = body.at("trusts");
  for (json& row : rows) {
    row["claims"] = in_words(row.at("claims"));
    if (row.at("deployments").is_null()) row["deployments"] = "all";
  }
  run.out().list(body, rows,
                 {{"NAME", "name"},
                  {"ISSUER", "issuer"},
                  {"AUDIENCE", "audience"},
                  {"CLAIMS", "claims"},
                  {"SCOPES", "scopes"},
                  {"DEPLOYMENTS", "deployments"},
                  {"LAST USED", "last_used_at"},
                  {"ID", "id"}});
}

void create(Run& run, const TrustFlags& flags) {
  json body = {{"issuer", issuer_of(flags.issuer)},
               {"audience", flags.audience.empty() ? run.settings().server : flags.audience},
               {"claims", claims_of(flags.claims)},
               {"scopes", split(flags.scopes)}};
  if (!flags.name.empty()) body["name"] = flags.name;
  if (!flags.deployments.empty()) {
    body["deployments"] = json::array();
    for (const std::string& name : split(flags.deployments))
      body["deployments"].push_back(deployment_id(run.api(), name));
  }
  const json answer = run.api().post(trusts_path(run), body, As::account);
  const json& trust = answer.at("trust");
  if (trust.at("claims").empty()) {
    run.out().done(answer, "The app's containers may use " + cell(trust, "scopes") +
                               ", if their deployment has an identity.");
    return;
  }
  run.out().done(answer, "Jobs with a token of " + cell(trust, "issuer") + " for " +
                             cell(trust, "audience") + " whose claims are " +
                             printable(in_words(trust.at("claims"))) + " may use " +
                             cell(trust, "scopes") + ".");
}

// A trust is named by its id or, if only one is called that, by its name.
json find_trust(Run& run, const std::string& trust) {
  std::vector<json> found;
  std::vector<std::string> names;
  const json all = all_trusts(run);
  for (const json& one : all.at("trusts")) {
    if (one.at("id") == trust || one.at("name") == trust) found.push_back(one);
    if (one.at("name").is_string()) names.push_back(one.at("name"));
  }
  if (found.size() == 1) return found[0];
  throw Failure(found.empty() ? Exit::not_found : Exit::usage,
                found.empty() ? "there is no trust " + trust + did_you_mean(trust, names)
                              : "several trusts are called " + trust + ": name one by its id",
                "`berth trusts list` shows them.");
}

void remove(Run& run, const TrustFlags& flags) {
  const json trust = find_trust(run, flags.trust);
  confirm("Jobs that this trust is for get no more tokens, and theirs end. Continue?", flags.yes);
  const std::string id = percent_encode(trust.at("id").get<std::string>());
  const json answer =
      run.api().call({.method = "DELETE", .path = trusts_path(run, "/" + id), .as = As::account});
  run.out().done(answer, "The trust is deleted.");
}

void add_trust_creation(CLI::App& group, Run& run) {
  const SharedTrustFlags made = std::make_shared<TrustFlags>();
  CLI::App* command =
      add_command(group, "create", "Trust jobs of a CI system, by what its tokens say about them",
                  "berth trusts create --issuer github --claim repository_id=123456 --claim "
                  "ref=refs/heads/main --scopes deploy:read,deploy:write,logs:read",
                  [&run, made] { create(run, *made); });
  command
      ->add_option(
          "--issuer", made->issuer,
          "Who signs the jobs' tokens: github, gitlab, or the https URL of another issuer; "
          "or berth, for the app's own containers")
      ->required();
  command->add_option("--audience", made->audience,
                      "For whom the tokens have to be made; by default the server's address");
  command
      ->add_option("--claim", made->claims,
                   "What the tokens have to say, as NAME=VALUE; may be repeated, also with the "
                   "same name for several values; not for berth")
      ->allow_extra_args(false);
  command
      ->add_option("--scopes", made->scopes,
                   "What the jobs may do, such as deploy:read and deploy:write; may be repeated")
      ->required()
      ->allow_extra_args(false);
  command
      ->add_option("--deployment", made->deployments,
                   "Limit the jobs to this deployment, by its name or id; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--name", made->name, "What you call it");
}

}  // namespace

void add_trust_commands(CLI::App& root, Run& run) {
  CLI::App* group =
      add_group(root, "trusts", "CI jobs that get tokens for the current app without a secret");
  add_command(*group, "list", "List the app's trusts, and when each was last used",
              "berth trusts list", [&run] { list_trusts(run); });
  add_trust_creation(*group, run);
  const SharedTrustFlags gone = std::make_shared<TrustFlags>();
  CLI::App* end =
      add_command(*group, "delete", "Delete a trust, which ends the tokens that its jobs have",
                  "berth trusts delete main-branch", [&run, gone] { remove(run, *gone); });
  end->add_option("TRUST", gone->trust, "Id or name of the trust")->required();
  end->add_flag("--yes,-y", gone->yes, "Don't ask for confirmation");
}

}  // namespace berth::cli
