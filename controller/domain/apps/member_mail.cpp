#include "controller/domain/apps/member_mail.h"

#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/kernel/outbox.h"

namespace berth::apps {
namespace {

using messages::say;

// What the role is called in the language.
std::string name_of(Role role, Language in) {
  switch (role) {
    case Role::viewer:
      return say(in, "viewer");
    case Role::billing:
      return say(in, "billing");
    case Role::developer:
      return say(in, "developer");
    case Role::admin:
      return say(in, "admin of the app");
    case Role::owner:
      return say(in, "owner of the app");
  }
  return "";
}

std::string limits_of(const std::optional<std::vector<std::string>>& deployments, Language in) {
  if (!deployments) return "";
  return say(in, "It is limited to some deployments: {count}.",
             {{"count", std::to_string(deployments->size())}}) +
         "\n";
}

std::string console_link(const MemberChange& by) { return "\n\n  " + by.base_url + "/console\n\n"; }

void send(db::Tx& tx, const MemberChange& by, const std::string& user_id, auto&& letter_to) {
  const auto user = accounts::find(tx, user_id);
  if (user) accounts::send(tx, *user, by.keys, letter_to(*user));
}

}  // namespace

void tell_invited(db::Tx& tx, const MemberChange& by, const App& app, const Invitation& invitation,
                  const std::optional<accounts::User>& user) {
  const Language in = user ? user->language : by.actor.language;
  const std::string hello = user ? accounts::greeting(*user) : say(in, "Hello,") + "\n\n";
  const outbox::Letter letter = {
      .to = user ? user->email : *invitation.email,
      .subject = say(in, "You are invited to the app \"{app}\"", {{"app", app.app_name}}),
      .body = hello +
              say(in,
                  "{name} invites you to work on the app \"{app}\" with the role {role}. You can "
                  "accept or decline within seven days; you need an account with this address for "
                  "it:",
                  {{"name", by.actor.username},
                   {"app", app.app_name},
                   {"role", name_of(invitation.role, in)}}) +
              console_link(by) + limits_of(invitation.deployments, in) +
              say(in,
                  "If you don't know what this is about, you don't have to do anything: the "
                  "invitation ends by itself.") +
              "\n"};
  if (user)
    accounts::send(tx, *user, by.keys, letter);
  else
    outbox::put(tx, by.keys.data, letter);
}

void tell_accepted(db::Tx& tx, const MemberChange& by, const App& app, const Member& member,
                   const std::string& invited_by) {
  send(tx, by, invited_by, [&](const accounts::User& user) {
    const Language in = user.language;
    return outbox::Letter{
        .to = user.email,
        .subject = say(in, "Your invitation was accepted"),
        .body =
            accounts::greeting(user) +
            say(in, "{name} has accepted: they are now a member of \"{app}\" with the role {role}.",
                {{"name", member.username},
                 {"app", app.app_name},
                 {"role", name_of(member.role, in)}}) +
            "\n"};
  });
}

void tell_role_changed(db::Tx& tx, const MemberChange& by, const App& app, const Member& member) {
  send(tx, by, member.user_id, [&](const accounts::User& user) {
    const Language in = user.language;
    return outbox::Letter{
        .to = user.email,
        .subject = say(in, "Your role in the app \"{app}\" was changed", {{"app", app.app_name}}),
        .body = accounts::greeting(user) +
                say(in, "{name} has changed your role in the app \"{app}\". It is now: {role}.",
                    {{"name", by.actor.username},
                     {"app", app.app_name},
                     {"role", name_of(member.role, in)}}) +
                "\n" + limits_of(member.deployments, in)};
  });
}

void tell_removed(db::Tx& tx, const MemberChange& by, const App& app, const std::string& user_id) {
  send(tx, by, user_id, [&](const accounts::User& user) {
    const Language in = user.language;
    return outbox::Letter{
        .to = user.email,
        .subject =
            say(in, "You are no longer a member of the app \"{app}\"", {{"app", app.app_name}}),
        .body = accounts::greeting(user) +
                say(in,
                    "{name} has removed you from the app \"{app}\". You have no access to it any "
                    "more.",
                    {{"name", by.actor.username}, {"app", app.app_name}}) +
                "\n"};
  });
}

void tell_transferred(db::Tx& tx, const MemberChange& by, const App& app,
                      const accounts::User& to) {
  send(tx, by, to.id, [&](const accounts::User& user) {
    const Language in = user.language;
    return outbox::Letter{
        .to = user.email,
        .subject =
            say(in, "The app \"{app}\" now belongs to your account", {{"app", app.app_name}}),
        .body = accounts::greeting(user) +
                say(in,
                    "{name} has transferred the app \"{app}\" to you. Its deployments now count "
                    "against the limits of your account. {name} stays an owner until you remove "
                    "them; whoever knows the app's secret can use it until you replace it:",
                    {{"name", by.actor.username}, {"app", app.app_name}}) +
                console_link(by)};
  });
  send(tx, by, by.actor.id, [&](const accounts::User& user) {
    const Language in = user.language;
    return outbox::Letter{
        .to = user.email,
        .subject = say(in, "The app \"{app}\" was transferred", {{"app", app.app_name}}),
        .body = accounts::greeting(user) +
                say(in,
                    "the app \"{app}\" now belongs to {name}. You stay an owner until you leave it "
                    "or are removed.",
                    {{"name", to.username}, {"app", app.app_name}}) +
                "\n\n" +
                say(in, "If it wasn't you, choose a new password now: {link}",
                    {{"link", by.base_url + "/forgot-password"}}) +
                "\n"};
  });
}

}  // namespace berth::apps
