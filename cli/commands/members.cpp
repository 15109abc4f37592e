// The people who may work on an app, and the invitations to do so.
#include "cli/commands/account.h"
#include "cli/commands/commands.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

// From the one that may do the least; each may do what those before it may.
const std::vector<std::string> roles = {"viewer", "billing", "developer", "admin", "owner"};

const std::vector<Column> member_columns = {
    {"USERNAME", "username"},       {"NAME", "display_name"}, {"ROLE", "role"},
    {"DEPLOYMENTS", "deployments"}, {"SINCE", "inserted_at"}, {"ID", "user_id"}};
const std::vector<Column> invitation_columns = {
    {"INVITED", "invited"}, {"ROLE", "role"},        {"DEPLOYMENTS", "deployments"},
    {"BY", "invited_by"},   {"UNTIL", "expires_at"}, {"ID", "id"}};
const std::vector<Column> own_invitation_columns = {
    {"APP", "app.app_name"}, {"ROLE", "role"},        {"DEPLOYMENTS", "deployments"},
    {"BY", "invited_by"},    {"UNTIL", "expires_at"}, {"ID", "id"}};

struct MemberFlags {
  std::string who;
  std::string role;
  std::vector<std::string> deployments;
  bool all_deployments = false;
  bool password_stdin = false;
  bool yes = false;
};
using SharedMemberFlags = std::shared_ptr<MemberFlags>;

std::string path_in_app(Run& run, const std::string& behind) {
  return "/api/oauth/my-apps/" + app_id(run, "") + behind;
}

json members_of_app(Run& run) { return run.api().get(path_in_app(run, "/members"), As::account); }

// Null in `deployments` means all of them, which a table says in words.
json with_all(json items) {
  for (json& item : items)
    if (item.at("deployments").is_null()) item["deployments"] = "all";
  return items;
}

// An invitation goes to an address or to a user.
std::string invited(const json& invitation) {
  return cell(invitation, invitation.at("email").is_string() ? "email" : "username");
}

json with_invited(json invitations) {
  for (json& invitation : invitations) invitation["invited"] = invited(invitation);
  return invitations;
}

// Returns the only one of `items` that `is_meant` accepts. Throws Failure `not_found`, with a name
// that is nearly `word`, or `usage` if there are several. `what` is such as "member".
json only(const json& items, const std::string& what, const std::string& word,
          const std::function<bool(const json&)>& is_meant,
          const std::function<std::string(const json&)>& name_of, const std::string& advice) {
  std::vector<json> found;
  std::vector<std::string> names;
  for (const json& item : items) {
    if (is_meant(item)) found.push_back(item);
    names.push_back(name_of(item));
  }
  if (found.size() == 1) return found[0];
  throw Failure(found.empty() ? Exit::not_found : Exit::usage,
                found.empty() ? "there is no " + what + " " + word + did_you_mean(word, names)
                              : "there are several for " + word + ": name one by its id",
                advice);
}

json find_member(Run& run, const std::string& who) {
  return only(
      members_of_app(run).at("members"), "member", who,
      [&](const json& one) { return one.at("user_id") == who || one.at("username") == who; },
      [](const json& one) { return cell(one, "username"); },
      "`berth members list` shows the members.");
}

json find_invitation(Run& run, const std::string& who) {
  return only(
      members_of_app(run).at("invitations"), "invitation of", who,
      [&](const json& one) { return one.at("id") == who || invited(one) == who; }, invited,
      "`berth members list` shows the invitations that are open.");
}

std::string path_of(Run& run, const json& member) {
  return path_in_app(run, "/members/" + percent_encode(member.at("user_id").get<std::string>()));
}

json ids_of(Run& run, const std::vector<std::string>& deployments) {
  json ids = json::array();
  for (const std::string& name : split(deployments)) ids.push_back(deployment_id(run.api(), name));
  return ids;
}

void list_members(Run& run) {
  const json body = members_of_app(run);
  run.out().print(body, [&] {
    std::string text = Output::table(with_all(body.at("members")), member_columns);
    if (const json& open = body.at("invitations"); !open.empty())
      text += "\nInvitations that nobody has answered:\n" +
              Output::table(with_invited(with_all(open)), invitation_columns);
    return text;
  });
}

void invite(Run& run, const MemberFlags& flags) {
  json body = {{"role", flags.role}};
  body[flags.who.find('@') == std::string::npos ? "username" : "email"] = flags.who;
  if (!flags.deployments.empty()) body["deployments"] = ids_of(run, flags.deployments);
  const json answer = run.api().post(path_in_app(run, "/members"), body, As::account);
  run.out().done(answer, flags.who + " is invited as " + flags.role + ", until " +
                             cell(answer, "invitation.expires_at") + ".");
}

void change_role(Run& run, const MemberFlags& flags) {
  json body = {{"role", flags.role}};
  if (!flags.deployments.empty()) body["deployments"] = ids_of(run, flags.deployments);
  if (flags.all_deployments) body["deployments"] = nullptr;
  const json member = find_member(run, flags.who);
  const json answer = run.api().call(
      {.method = "PATCH", .path = path_of(run, member), .as = As::account, .body = body});
  run.out().done(answer, cell(member, "username") + " is " + flags.role + " from now on.");
}

void remove(Run& run, const MemberFlags& flags) {
  const json member = find_member(run, flags.who);
  const std::string name = cell(member, "username");
  confirm("This ends " + name + "'s access to the app at once. Continue?", flags.yes);
  const json answer =
      run.api().call({.method = "DELETE", .path = path_of(run, member), .as = As::account});
  run.out().done(answer, name + " is no longer a member.");
}

void leave(Run& run, const MemberFlags& flags) {
  const json me = run.api().get("/api/auth/me", As::account).at("user");
  confirm(
      "You lose your access to the app at once, and only an invitation gives it back. Continue?",
      flags.yes);
  const json answer = run.api().call(
      {.method = "DELETE", .path = path_of(run, {{"user_id", me.at("id")}}), .as = As::account});
  run.out().done(answer, "You are no longer a member.");
}

void transfer(Run& run, const MemberFlags& flags) {
  const json member = find_member(run, flags.who);
  const std::string name = cell(member, "username");
  confirm_name("This gives the app to " + name +
                   ". Its points and deployments count for their account from then on, and only "
                   "they can give it back.",
               name, flags.yes);
  const json answer = call_with_proof(run,
                                      {.method = "POST",
                                       .path = path_in_app(run, "/transfer"),
                                       .as = As::account,
                                       .body = {{"user_id", member.at("user_id")}}},
                                      flags.password_stdin);
  run.out().done(answer, "The app belongs to " + name + " now.");
}

void withdraw(Run& run, const MemberFlags& flags) {
  const json invitation = find_invitation(run, flags.who);
  const std::string id = percent_encode(invitation.at("id").get<std::string>());
  const json answer = run.api().call(
      {.method = "DELETE", .path = path_in_app(run, "/invitations/" + id), .as = As::account});
  run.out().done(answer, "The invitation is withdrawn.");
}

void add_role(CLI::Option* role) { role->required()->check(CLI::IsMember(roles)); }

CLI::Option* add_limit(CLI::App& command, MemberFlags& flags) {
  return command
      .add_option("--deployment", flags.deployments,
                  "Limit them to this deployment, by its name or id; may be repeated")
      ->allow_extra_args(false);
}

void add_invitation_of(CLI::App& group, Run& run) {
  const SharedMemberFlags made = std::make_shared<MemberFlags>();
  CLI::App* command = add_command(group, "invite", "Invite somebody to the current app",
                                  "berth members invite grace@example.org --role developer",
                                  [&run, made] { invite(run, *made); });
  command->add_option("WHO", made->who, "Email address or user name")->required();
  add_role(command->add_option("--role", made->role, "What they may do"));
  add_limit(*command, *made);

  const SharedMemberFlags back = std::make_shared<MemberFlags>();
  add_command(group, "withdraw", "Withdraw an invitation that nobody has answered",
              "berth members withdraw grace@example.org", [&run, back] { withdraw(run, *back); })
      ->add_option("INVITATION", back->who, "Email address or user name, or the invitation's id")
      ->required();
}

CLI::App* add_of_member(CLI::App& group, const SharedMemberFlags& flags, const char* name,
                        const char* description, const char* example,
                        std::function<void()> action) {
  CLI::App* command = add_command(group, name, description, example, std::move(action));
  command->add_option("MEMBER", flags->who, "User name or id of the member")->required();
  return command;
}

void add_member_changes(CLI::App& group, Run& run) {
  const SharedMemberFlags changed = std::make_shared<MemberFlags>();
  CLI::App* change = add_of_member(group, changed, "role", "Change what a member may do",
                                   "berth members role grace admin",
                                   [&run, changed] { change_role(run, *changed); });
  add_role(change->add_option("ROLE", changed->role, "What they may do from now on"));
  CLI::Option* some = add_limit(*change, *changed);
  change
      ->add_flag("--all-deployments", changed->all_deployments,
                 "Let them use all deployments of the app")
      ->excludes(some);

  const SharedMemberFlags gone = std::make_shared<MemberFlags>();
  add_of_member(group, gone, "remove", "End a member's access", "berth members remove grace",
                [&run, gone] { remove(run, *gone); })
      ->add_flag("--yes,-y", gone->yes, "Don't ask for confirmation");

  const SharedMemberFlags left = std::make_shared<MemberFlags>();
  add_command(group, "leave", "End your own access to the current app",
              "berth members leave --app \"My game\"", [&run, left] { leave(run, *left); })
      ->add_flag("--yes,-y", left->yes, "Don't ask for confirmation");

  const SharedMemberFlags given = std::make_shared<MemberFlags>();
  CLI::App* giving = add_of_member(
      group, given, "transfer", "Make a member's account the one that the app belongs to",
      "berth members transfer grace", [&run, given] { transfer(run, *given); });
  giving->add_flag("--password-stdin", given->password_stdin,
                   "Read your password, which this may need, from stdin instead of asking");
  giving->add_flag("--yes,-y", given->yes, "Don't ask for the member's name");
}

constexpr const char* invitations_path = "/api/auth/invitations";

// An invitation is named by its id or, if only one is there for it, by its app.
json find_own_invitation(Run& run, const std::string& word) {
  return only(
      run.api().get(invitations_path, As::account).at("invitations"), "invitation to", word,
      [&](const json& one) {
        return one.at("id") == word || one.at("app").at("app_name") == word ||
               one.at("app").at("id") == word;
      },
      [](const json& one) { return cell(one, "app.app_name"); },
      "`berth invitations list` shows those that you have.");
}

json answer_invitation(Run& run, const json& invitation, const std::string& answer) {
  return run.api().post(std::string(invitations_path) + "/" +
                            percent_encode(invitation.at("id").get<std::string>()) + "/" + answer,
                        nullptr, As::account);
}

void add_answer(CLI::App& group, Run& run, const std::string& verb, const std::string& description,
                const std::function<std::string(const json&)>& sentence) {
  const auto word = std::make_shared<std::string>();
  add_command(group, verb, description, "berth invitations " + verb + " \"My game\"",
              [&run, word, verb, sentence] {
                const json invitation = find_own_invitation(run, *word);
                run.out().done(answer_invitation(run, invitation, verb), sentence(invitation));
              })
      ->add_option("INVITATION", *word, "Id of the invitation, or name of the app")
      ->required();
}

}  // namespace

void add_member_commands(CLI::App& root, Run& run) {
  CLI::App* members = add_group(root, "members", "The people who may work on the current app");
  add_command(*members, "list", "List the members of the app, and open invitations",
              "berth members list", [&run] { list_members(run); });
  add_invitation_of(*members, run);
  add_member_changes(*members, run);

  CLI::App* invitations = add_group(root, "invitations", "Invitations to apps of others");
  add_command(*invitations, "list", "List the invitations that you haven't answered",
              "berth invitations list", [&run] {
                const json body = run.api().get(invitations_path, As::account);
                run.out().list(body, with_all(body.at("invitations")), own_invitation_columns);
              });
  add_answer(*invitations, run, "accept", "Become a member of an app", [](const json& invitation) {
    return "You are " + cell(invitation, "role") + " of " + cell(invitation, "app.app_name") +
           " now. `berth apps use` makes it the current app.";
  });
  add_answer(*invitations, run, "decline", "Decline an invitation",
             [](const json&) { return std::string("The invitation is declined."); });
}

}  // namespace berth::cli
