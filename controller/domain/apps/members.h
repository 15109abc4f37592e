#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/apps/roles.h"
#include "controller/domain/kernel/keys.h"

// Who may do what with an app: its members and their roles. invitations.h is how somebody becomes
// one. Functions throw berth::Error if they refuse. An app has one account that it belongs to
// (App::owner_id), whose limits count for it. That account is an owner without a row of its own, so
// an app is never without one.
namespace berth::apps {

inline constexpr int max_members_per_app = 50;  // without the account that the app belongs to
inline constexpr int max_memberships_of_account = 50;
inline constexpr size_t max_deployments_of_member = 50;
// An app changes hands at most once in this time, so that what an account gets for its deployments
// isn't collected by several accounts with the same app.
inline constexpr Duration transfer_interval = std::chrono::days(30);

// What a person may do with an app.
struct Membership {
  App app;
  Role role = Role::viewer;
  // The ids of the only deployments that they may use; empty if they may use all.
  std::vector<std::string> deployments = {};
};
// Returns the user's membership of an app, also of a suspended one. Throws app_not_found, and
// forbidden if they are neither its owner nor a member.
Membership membership(db::Tx& tx, const std::string& user_id, const std::string& app_id);
// Throws forbidden, with the name of the role that is needed, if the role doesn't include it.
void require_role(const Membership& membership, Role least);
// Returns the app if the user has at least this role in it, in all of the app. Throws like both
// functions above, and forbidden if the user may only use some of its deployments.
App require_member(db::Tx& tx, const std::string& user_id, const std::string& app_id, Role least);
// Whether the user is an owner or a member of the app who may use this deployment of it.
bool may_use(db::Tx& tx, const std::string& user_id, const std::string& app_id,
             const std::string& deployment_id);
// Returns the one of the user's apps that a request is about. `wanted` is its id or client_id. It
// may be empty if the user owns exactly one app; or if they own none and are a member of exactly
// one. So becoming a member changes nothing for those who have an app. Throws app_not_found,
// forbidden if they have nothing to do with it, and malformed_request if they named none of
// several.
Membership choose(db::Tx& tx, const std::string& user_id, const std::string& wanted);
// Returns the apps that the user owns or is a member of, newest first.
Page<Membership> list_mine(db::Tx& tx, const std::string& user_id, const PageRequest& page);
// The same, all of them: at most max_apps_per_account + max_memberships_of_account.
std::vector<Membership> all_mine(db::Tx& tx, const std::string& user_id);

struct Member {
  std::string user_id;
  std::string username;
  Role role = Role::viewer;
  std::optional<std::vector<std::string>> deployments = {};  // nothing: all
  Instant inserted_at;
};
// Returns the app's members, the account that it belongs to first, then in the order of joining.
std::vector<Member> members(db::Tx& tx, const App& app);

// Who acts, with the role that the row of the operation asks for.
struct MemberChange {
  const accounts::User& actor;
  const Keys& keys;
  const std::string& base_url;
};

struct RoleChange {
  std::optional<Role> role = {};
  // Nothing: stays. An inner nothing: all of the app's deployments. The caller has checked that
  // they are the app's.
  std::optional<std::optional<std::vector<std::string>>> deployments = {};
};
// Changes a member's role, or the deployments to which they are limited. Withdraws the invitations
// that they have sent if they get a lower role. Throws app_not_found; forbidden if the actor may
// change neither the member nor give the role; user_not_found; validation_failed; and invalid_state
// for the account that the app belongs to.
Member change_member(db::Tx& tx, const MemberChange& by, const std::string& app_id,
                     const std::string& user_id, const RoleChange& change);
// Removes a member, or the actor themselves: they leave. Their open invitations are withdrawn.
// Throws like change_member().
void remove_member(db::Tx& tx, const MemberChange& by, const std::string& app_id,
                   const std::string& user_id);

// Makes the member the account that the app belongs to. The account that it belonged to stays an
// owner. What the app has (deployments, builds, campaigns, points) goes with it, and counts against
// the limits of the new account. The caller has had the actor prove who they are. Throws
// app_not_found; forbidden unless the app belongs to the actor; user_not_found if the other isn't a
// member; invalid_state if they can't have it (suspended, unverified), or it changed hands less
// than transfer_interval ago, or the actor has no room for the membership; app_limit_reached and
// deployment_limit_reached if the new account has no room for it. Implemented in lifecycle, because
// it changes several modules' tables.
App transfer(db::Tx& tx, const MemberChange& by, const std::string& app_id,
             const std::string& user_id);

// Throws invalid_state if the user already is a member of max_memberships_of_account apps.
void require_room_for_membership(db::Tx& tx, const std::string& user_id);
// Whether the user is a member of any app, other than as the account that it belongs to.
bool is_any_member(db::Tx& tx, const std::string& user_id);
// Whether the user is a member of the app, other than as the account that it belongs to.
bool is_member(db::Tx& tx, const std::string& app_id, const std::string& user_id);
// Removes the user's memberships, and the invitations to and by them. For the deletion of accounts.
void forget_member(db::Tx& tx, const std::string& user_id);

}  // namespace berth::apps
