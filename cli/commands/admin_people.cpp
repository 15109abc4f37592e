// An admin's view of users, and what suspends users, apps and deployments.
#include "cli/commands/commands.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

struct PeopleFlags {
  std::string search;
  std::string user;
  std::string tier;
  std::string role;
  bool makes_admin = false;
  bool takes_admin = false;
  size_t limit = 100;
  std::string kind;
  std::string id;
  bool yes = false;
};
using SharedPeopleFlags = std::shared_ptr<PeopleFlags>;

constexpr const char* users_path = "/api/internal/users";

const std::vector<Column> user_columns = {
    {"NAME", "username"},       {"ID", "id"},
    {"EMAIL", "email"},         {"VERIFIED", "email_verified"},
    {"TIER", "tier"},           {"POINTS", "points"},
    {"ADMIN", "admin_role"},    {"2ND FACTOR", "totp_enabled"},
    {"SUSPENDED", "suspended"}, {"SINCE", "inserted_at"}};

json users(Run& run, const std::string& search, size_t limit) {
  const std::string query = search.empty() ? "" : "?q=" + percent_encode(search);
  return run.api().all(users_path + query, "users", As::admin, limit);
}

// A user is named by id, user name or email address.
std::string user_id(Run& run, const std::string& user) {
  if (is_uuid(user)) return user;
  std::vector<std::string> names;
  const json found = users(run, user, most_items);
  for (const json& entry : found.at("users")) {
    if (entry.at("username") == user || entry.at("email") == user) return entry.at("id");
    names.push_back(entry.at("username"));
  }
  throw Failure(Exit::not_found, "there is no user " + user + did_you_mean(user, names),
                "`berth admin users list --search TEXT` looks for them.");
}

void promote(Run& run, const PeopleFlags& flags) {
  json body = json::object();
  if (!flags.tier.empty()) body["tier"] = flags.tier;
  if (flags.takes_admin) body["is_admin"] = false;
  if (flags.makes_admin) body["admin_role"] = "admin";
  if (!flags.role.empty()) body["admin_role"] = flags.role;
  if (body.empty())
    throw Failure(Exit::usage, "nothing to change", "Pass --tier, --role, --admin or --no-admin.");
  const json answer = run.api().post(
      std::string(users_path) + "/" + user_id(run, flags.user) + "/promote", body, As::admin);
  run.out().done(answer,
                 cell(answer, "user.username") + " has the tier " + cell(answer, "user.tier") +
                     ", and is " +
                     (answer.at("user").at("is_admin")
                          ? "an admin with the role " + cell(answer, "user.admin_role") + "."
                          : "no admin."));
}

void end_sessions(Run& run, const PeopleFlags& flags) {
  const std::string path = std::string(users_path) + "/" + user_id(run, flags.user) + "/sessions";
  confirm("End all sessions and tokens of " + flags.user + "?", flags.yes);
  const json answer = run.api().call({.method = "DELETE", .path = path, .as = As::admin});
  run.out().done(answer, "All sessions and tokens of " + flags.user +
                             " have ended: " + cell(answer, "sessions") + " sessions, " +
                             std::to_string(answer.at("devices").size()) + " programs and " +
                             std::to_string(answer.at("apps").size()) + " apps.");
}

std::string path_of(Run& run, const PeopleFlags& flags) {
  if (flags.kind == "user") return std::string(users_path) + "/" + user_id(run, flags.id);
  if (flags.kind == "app") return "/api/internal/apps/" + app_id(run, flags.id);
  if (!is_uuid(flags.id))
    throw Failure(Exit::usage, flags.id + " isn't the id of a deployment",
                  "Admins name other people's deployments by their ids.");
  return "/api/internal/deploy/apps/" + flags.id;
}

void decide(Run& run, const PeopleFlags& flags, const std::string& action,
            const std::string& sentence) {
  const json answer = run.api().post(path_of(run, flags) + "/" + action, nullptr, As::admin);
  run.out().done(answer, "The " + flags.kind + " " + flags.id + " " + sentence);
}

void add_subject(CLI::App& command, const SharedPeopleFlags& flags) {
  command.add_option("KIND", flags->kind, "Kind")
      ->required()
      ->check(CLI::IsMember({"user", "app", "deployment"}));
  command.add_option("ID", flags->id, "Id; for a user, the name or email address works, too")
      ->required();
}

void add_users(CLI::App& admin, Run& run) {
  CLI::App* group = add_group(admin, "users", "The users of the platform");
  const SharedPeopleFlags listed = std::make_shared<PeopleFlags>();
  CLI::App* list = add_command(*group, "list", "List users", "berth admin users list --search ada",
                               [&run, listed] {
                                 const json body = users(run, listed->search, listed->limit);
                                 run.out().list(body, body.at("users"), user_columns);
                               });
  list->add_option("--search", listed->search,
                   "Only users whose name or email address contains this text");
  list->add_option("--limit", listed->limit, "Maximum number of users")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), most_items));
  const SharedPeopleFlags raised = std::make_shared<PeopleFlags>();
  CLI::App* promotion = add_command(
      *group, "promote", "Give a user another tier, or make them an admin",
      "berth admin users promote ada --admin", [&run, raised] { promote(run, *raised); });
  promotion->add_option("USER", raised->user, "Name, email address or id of the user")->required();
  promotion->add_option("--tier", raised->tier, "The user's tier");
  CLI::Option* makes =
      promotion->add_flag("--admin", raised->makes_admin, "Give the user all rights of an admin");
  CLI::Option* role =
      promotion->add_option("--role", raised->role, "Make the user an admin with this role")
          ->check(CLI::IsMember({"admin", "support", "finance"}))
          ->excludes(makes);
  promotion->add_flag("--no-admin", raised->takes_admin, "Take away the rights of an admin")
      ->excludes(makes)
      ->excludes(role);
  const SharedPeopleFlags ended = std::make_shared<PeopleFlags>();
  CLI::App* end = add_command(
      *group, "end-sessions", "End all logins of a user, and all tokens that act for them",
      "berth admin users end-sessions mallory", [&run, ended] { end_sessions(run, *ended); });
  end->add_option("USER", ended->user, "Name, email address or id of the user")->required();
  end->add_flag("--yes,-y", ended->yes, "Don't ask");
}

}  // namespace

void add_admin_people_commands(CLI::App& admin, Run& run) {
  add_users(admin, run);
  const SharedPeopleFlags bad = std::make_shared<PeopleFlags>();
  CLI::App* suspension = add_command(
      admin, "suspend", "Suspend a user, an app or a deployment",
      "berth admin suspend user mallory", [&run, bad] {
        confirm("Suspend the " + bad->kind + " " + bad->id + "? It stops working at once",
                bad->yes);
        decide(run, *bad, "suspend", "is suspended.");
      });
  add_subject(*suspension, bad);
  suspension->add_flag("--yes,-y", bad->yes, "Don't ask");
  const SharedPeopleFlags good = std::make_shared<PeopleFlags>();
  add_subject(*add_command(admin, "reactivate", "End the suspension of a user, app or deployment",
                           "berth admin reactivate user mallory",
                           [&run, good] { decide(run, *good, "reactivate", "works again."); }),
              good);
  const SharedPeopleFlags ad = std::make_shared<PeopleFlags>();
  CLI::App* removal = add_command(
      admin, "take-down", "Remove a creative of an ad, with its picture",
      "berth admin take-down 01936f5e-7c1a-7000-8000-0000000000c1", [&run, ad] {
        confirm("Remove the creative " + ad->id + " and its picture?", ad->yes);
        const json answer =
            run.api().call({.method = "DELETE",
                            .path = "/api/internal/ads/creatives/" + percent_encode(ad->id),
                            .as = As::admin});
        run.out().done(answer, cell(answer, "message"));
      });
  removal->add_option("CREATIVE", ad->id, "Id, with which the picture's address ends")->required();
  removal->add_flag("--yes,-y", ad->yes, "Don't ask");
}

}  // namespace berth::cli
