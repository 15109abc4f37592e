// Members of an app: who they are, how they are invited, and what becomes of their roles.
#include "controller/domain/apps/members.h"

#include <algorithm>

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/accounts/sign_in.h"
#include "api/resources/apps.h"
#include "api/resources/shared.h"
#include "controller/domain/apps/invitations.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/items/avatars.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

json encode_ids(const std::optional<std::vector<std::string>>& ids) {
  return ids ? json(*ids) : json(nullptr);
}

json encode(db::Tx& tx, const apps::Member& member) {
  const auto avatar = avatars::find(tx, member.user_id);
  return {{"user_id", member.user_id},
          {"username", member.username},
          {"display_name", avatar ? or_null(avatar->display_name) : json(nullptr)},
          {"role", to_string(member.role)},
          {"deployments", encode_ids(member.deployments)},
          {"inserted_at", to_iso8601(member.inserted_at)}};
}

json encode(const apps::Invitation& invitation) {
  return {{"id", invitation.id},
          {"email", or_null(invitation.email)},
          {"username", or_null(invitation.username)},
          {"role", to_string(invitation.role)},
          {"deployments", encode_ids(invitation.deployments)},
          {"invited_by", invitation.invited_by_username},
          {"inserted_at", to_iso8601(invitation.inserted_at)},
          {"expires_at", to_iso8601(invitation.expires_at)}};
}

// What the one who is invited sees. Null if the app was deleted.
json encode_received(db::Tx& tx, const apps::Invitation& invitation) {
  const auto app = apps::find(tx, invitation.app_id);
  if (!app) return nullptr;
  return {{"id", invitation.id},
          {"app", {{"id", app->id}, {"app_name", app->app_name}}},
          {"role", to_string(invitation.role)},
          {"deployments", encode_ids(invitation.deployments)},
          {"invited_by", invitation.invited_by_username},
          {"inserted_at", to_iso8601(invitation.inserted_at)},
          {"expires_at", to_iso8601(invitation.expires_at)}};
}

apps::MemberChange change_by(const Call& call, const Services& services) {
  return {.actor = *call.user, .keys = services.keys, .base_url = services.base_url};
}

// The body's schema has the names.
apps::Role decode_role(const json& body) {
  return parse_enum<apps::Role>(body.at("role").get<std::string>()).value();
}

// Returns nothing for null, and if the body doesn't have the field. Throws validation_failed for
// ids that aren't those of deployments of the app.
std::optional<std::vector<std::string>> decode_deployments(db::Tx& tx, const json& body,
                                                           const std::string& app_id) {
  const auto list = body.find("deployments");
  if (list == body.end() || list->is_null()) return std::nullopt;
  auto ids = list->get<std::vector<std::string>>();
  std::ranges::sort(ids);
  const auto again = std::ranges::unique(ids);
  ids.erase(again.begin(), again.end());
  for (const std::string& id : ids) {
    const auto row = deployments::find(tx, id);
    if (!row || row->app_id != app_id || row->status == deployments::Status::destroyed)
      throw invalid_field("deployments", "must be the ids of deployments of the app");
  }
  return ids;
}

Reply list_members(db::Tx& tx, const Call& call, const Services&) {
  const apps::Membership own = membership_in_path(tx, call, "app_id");
  json members = json::array(), invitations = json::array();
  for (const apps::Member& member : apps::members(tx, own.app))
    members.push_back(encode(tx, member));
  // Addresses of strangers are for those who invite.
  if (apps::includes(own.role, apps::Role::admin))
    for (const apps::Invitation& invitation : apps::invitations_of_app(tx, own.app.id))
      invitations.push_back(encode(invitation));
  return {.body = {{"members", std::move(members)}, {"invitations", std::move(invitations)}}};
}

Reply invite(db::Tx& tx, const Call& call, const Services& services) {
  const std::string& app_id = call.id("app_id");
  const apps::Invitation made =
      apps::invite(tx, change_by(call, services), app_id,
                   {.email = text_or_nothing(call.body, "email"),
                    .username = text_or_nothing(call.body, "username"),
                    .role = decode_role(call.body),
                    .deployments = decode_deployments(tx, call.body, app_id)});
  return {.status = 201, .body = {{"invitation", encode(made)}}};
}

Reply change_member(db::Tx& tx, const Call& call, const Services& services) {
  const std::string& app_id = call.id("app_id");
  apps::RoleChange change;
  if (call.body.contains("role")) change.role = decode_role(call.body);
  if (call.body.contains("deployments"))
    change.deployments = decode_deployments(tx, call.body, app_id);
  const apps::Member changed =
      apps::change_member(tx, change_by(call, services), app_id, call.id("user_id"), change);
  return {.body = {{"member", encode(tx, changed)}}};
}

Reply remove_member(db::Tx& tx, const Call& call, const Services& services) {
  const std::string& user_id = call.id("user_id");
  apps::remove_member(tx, change_by(call, services), call.id("app_id"), user_id);
  return message_reply(user_id == call.user->id ? "you have left the app"
                                                : "the member was removed");
}

Reply withdraw_invitation(db::Tx& tx, const Call& call, const Services& services) {
  apps::withdraw_invitation(tx, change_by(call, services), call.id("app_id"),
                            call.id("invitation_id"));
  return message_reply("the invitation was withdrawn");
}

Reply transfer_app(const Call& call, const Services& services) {
  require_proof(*call.user, call.session_id,
                {.password = text_or_nothing(call.body, "password"),
                 .totp_code = text_or_nothing(call.body, "totp_code"),
                 .address = call.address},
                services);
  return services.db.write([&](db::Tx& tx) -> Reply {
    const apps::App app =
        apps::transfer(tx, change_by(call, services), call.id("app_id"), call.body.at("user_id"));
    audit::record_operation(tx, "app", app.id);
    json body = api::encode(tx, app);
    body["role"] = to_string(apps::membership(tx, call.user->id, app.id).role);
    return {.body = {{"app", std::move(body)}}};
  });
}

Reply received_invitations(db::Tx& tx, const Call& call, const Services&) {
  json invitations = json::array();
  for (const apps::Invitation& invitation : apps::invitations_to(tx, *call.user))
    if (json encoded = encode_received(tx, invitation); !encoded.is_null())
      invitations.push_back(std::move(encoded));
  return {.body = {{"invitations", std::move(invitations)}}};
}

Reply accept_invitation(db::Tx& tx, const Call& call, const Services& services) {
  const apps::Member member = apps::accept(tx, change_by(call, services), call.id());
  return {.body = {{"member", encode(tx, member)}}};
}

Reply decline_invitation(db::Tx& tx, const Call& call, const Services& services) {
  const apps::Invitation declined = apps::decline(tx, change_by(call, services), call.id());
  return {.body = {{"invitation", encode_received(tx, declined)}}};
}

constexpr Placeholder member_in_path = {"MemberId", "The id of a user who is a member of the app.",
                                        "01936f5e-7c1a-7000-8000-000000000001"};
constexpr Placeholder invitation_of_app_in_path = {"AppInvitationId",
                                                   "The id of an invitation of the app.",
                                                   "01936f5e-7c1a-7000-8000-00000000000e"};
constexpr Placeholder invitation_in_path = {"InvitationId",
                                            "The id of an invitation to the caller.",
                                            "01936f5e-7c1a-7000-8000-00000000000e"};

constexpr Route rows[] = {
    {.request = "GET /api/oauth/my-apps/{app_id}/members",
     .name = "listMembers",
     .tag = "Operators",
     .summary = "List an app's members and those who are invited",
     .text = "Returns the members with their roles, the account that the app belongs to first. "
             "Admins of the app also get the open invitations.",
     .guards = {to_viewers(person()), account_reads},
     .in_path = {&my_app_in_path},
     .answer = {200, "MemberList"},
     .errors = {Code::app_not_found, Code::forbidden},
     .served_by = {"berth members list", "/console/apps"},
     .run = ReadHandler{list_members}},
    {.request = "POST /api/oauth/my-apps/{app_id}/members",
     .name = "inviteMember",
     .tag = "Operators",
     .summary = "Invite somebody to work on an app",
     .text = "Invites an address or a user, who gets a letter and can accept within seven days. "
             "The answer is the same whether or not an account has the address. An account can "
             "invite 20 people in 24 hours, an app can have 20 open invitations, and whoever has "
             "declined can be invited again after 30 days. Only an owner makes owners.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::apps,
     .in_path = {&my_app_in_path},
     .body = {"InviteRequest"},
     .answer = {201, "InvitationEnvelope"},
     .errors = {Code::app_not_found, Code::forbidden, Code::email_not_verified,
                Code::user_not_found, Code::invalid_state},
     .event = {SecurityKind::app_changed, "member_invited"},
     .served_by = {"berth members invite", "/console/apps"},
     .run = WriteHandler{invite}},
    {.request = "PATCH /api/oauth/my-apps/{app_id}/members/{user_id}",
     .name = "changeMember",
     .tag = "Operators",
     .summary = "Change a member's role, or the deployments that they may use",
     .text = "Changes the fields that are sent. Admins change members below owner, and owners all "
             "but the account that the app belongs to. It takes effect at once, and on open "
             "streams and sessions within five seconds.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::apps,
     .in_path = {&my_app_in_path, &member_in_path},
     .body = {"MemberChange"},
     .answer = {200, "MemberEnvelope"},
     .errors = {Code::app_not_found, Code::forbidden, Code::user_not_found, Code::invalid_state},
     .event = {SecurityKind::app_changed, "member_changed"},
     .served_by = {"berth members role", "/console/apps"},
     .run = WriteHandler{change_member}},
    {.request = "DELETE /api/oauth/my-apps/{app_id}/members/{user_id}",
     .name = "removeMember",
     .tag = "Operators",
     .summary = "Remove a member, or leave the app",
     .text = "Removes the member at once, and their open streams and sessions within five seconds. "
             "Each member can remove themselves; to remove others takes the role admin, and the "
             "role owner for an owner. The account that the app belongs to can't leave: it "
             "transfers or deletes the app.",
     .guards = {keeping_to_deployments(to_viewers(person())), account_writes},
     .stores = Stores::nothing,
     .in_path = {&my_app_in_path, &member_in_path},
     .answer = {200, "Message"},
     .errors = {Code::app_not_found, Code::forbidden, Code::user_not_found, Code::invalid_state},
     .event = {SecurityKind::app_changed, "member_removed"},
     .served_by = {"berth members remove", "/console/apps"},
     .run = WriteHandler{remove_member}},
    {.request = "DELETE /api/oauth/my-apps/{app_id}/invitations/{invitation_id}",
     .name = "withdrawInvitation",
     .tag = "Operators",
     .summary = "Withdraw an invitation",
     .text = "Ends an invitation that nobody has accepted yet.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::nothing,
     .in_path = {&my_app_in_path, &invitation_of_app_in_path},
     .answer = {200, "Message"},
     .errors = {Code::app_not_found, Code::forbidden, Code::invitation_not_found},
     .event = {SecurityKind::app_changed, "invitation_withdrawn"},
     .served_by = {"berth members withdraw", "/console/apps"},
     .run = WriteHandler{withdraw_invitation}},
    {.request = "POST /api/oauth/my-apps/{app_id}/transfer",
     .name = "transferApp",
     .tag = "Operators",
     .summary = "Give an app to one of its members",
     .text = "Makes a member the account that the app belongs to, with its deployments, campaigns "
             "and points, which count against that account's limits from now on. The caller stays "
             "an owner. Only the account that the app belongs to can do this, once in 30 days, and "
             "the password or a code is asked for unless it was entered recently. Tokens of the "
             "grant client_credentials lose the scopes of operators; the app gets new ones.",
     .guards = {to_owners(session()), password_calls},
     .stores = Stores::apps,
     .in_path = {&my_app_in_path},
     .body = {"TransferAppRequest"},
     .answer = {200, "AppEnvelope"},
     .errors = {Code::app_not_found, Code::forbidden, Code::user_not_found, Code::invalid_state,
                Code::app_limit_reached, Code::deployment_limit_reached, Code::bonus_locked,
                Code::invalid_credentials, Code::invalid_totp,
                Code::insufficient_user_authentication},
     .event = {SecurityKind::app_changed, "transferred"},
     .served_by = {"berth members transfer", "/console/apps"},
     .run = FreeHandler{transfer_app}},
    {.request = "GET /api/auth/invitations",
     .name = "listInvitations",
     .tag = "Account",
     .summary = "List the apps to which the caller is invited",
     .text =
         "Returns the open invitations to the caller: to their name, and to their address if it "
         "is verified.",
     .guards = {person(), account_reads},
     .answer = {200, "ReceivedInvitationList"},
     .served_by = {"berth invitations list", "/console/apps"},
     .run = ReadHandler{received_invitations}},
    {.request = "POST /api/auth/invitations/{id}/accept",
     .name = "acceptInvitation",
     .tag = "Account",
     .summary = "Accept an invitation to an app",
     .text = "Makes the caller a member of the app with the role of the invitation.",
     .guards = {person(), account_writes},
     .stores = Stores::apps,
     .in_path = {&invitation_in_path},
     .answer = {200, "MemberEnvelope"},
     .errors = {Code::invitation_not_found, Code::email_not_verified, Code::invalid_state},
     .event = {SecurityKind::app_changed, "invitation_accepted"},
     .served_by = {"berth invitations accept", "/console/apps"},
     .run = WriteHandler{accept_invitation}},
    {.request = "POST /api/auth/invitations/{id}/decline",
     .name = "declineInvitation",
     .tag = "Account",
     .summary = "Decline an invitation to an app",
     .text = "Ends the invitation. The app can't invite the caller again for 30 days.",
     .guards = {person(), account_writes},
     .stores = Stores::nothing,
     .in_path = {&invitation_in_path},
     .answer = {200, "ReceivedInvitationEnvelope"},
     .errors = {Code::invitation_not_found},
     .event = {SecurityKind::app_changed, "invitation_declined"},
     .served_by = {"berth invitations decline", "/console/apps"},
     .run = WriteHandler{decline_invitation}},
};

}  // namespace

std::span<const Route> members_routes() { return rows; }

}  // namespace berth::api
