// Accounts for the platform's administrators, under /api/internal/users, and the key that signs
// sessions.
#include "controller/domain/lifecycle/user_admin.h"

#include "api/gate/encode.h"
#include "api/resources/accounts/encode_user.h"
#include "api/resources/internal.h"
#include "api/resources/shared.h"
#include "controller/domain/accounts/merged_guests.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/lifecycle/ways_in.h"

namespace berth::api {

json encode_for_admin(const accounts::User& user) {
  json body = encode_user(user);
  body.update({{"suspended", user.suspended},
               {"is_guest", user.is_guest},
               {"points", user.points},
               {"registration_number", user.registration_number},
               {"inserted_at", to_iso8601(user.created_at)}});
  return body;
}

namespace {

// How many of a user's apps, the newest, they are shown with, and of their sessions.
constexpr int shown_apps = 50;

json encode(const accounts::User& user) { return encode_for_admin(user); }

Reply envelope(const accounts::User& user) { return {.body = {{"user", encode(user)}}}; }

Reply get_user(db::Tx& tx, const Call& call, const Services&) {
  // The id of a merged guest leads to the account that they are now.
  const auto user = accounts::find(tx, guests::account_of(tx, call.id()));
  if (!user) throw Error(Code::user_not_found, "there is no such user");
  const accounts::Stats stats = accounts::stats(tx, user->id);
  json owned = json::array();
  for (const auto& app :
       apps::list_owned(tx, user->id, {.page = 1, .page_size = shown_apps}).items) {
    json entry = encode_for_admin(tx, app);
    entry["balance"] = ledger::balance(tx, ledger::app_account(app.id));
    owned.push_back(std::move(entry));
  }
  const auto sessions = accounts::list_sessions(tx, user->id, {.page = 1, .page_size = 1});
  return {
      .body = {{"user", encode(*user)},
               {"stats",
                {{"direct_referrals", stats.direct_referrals},
                 {"connected_apps", stats.connected_apps},
                 {"total_earned", stats.total_earned},
                 {"total_spent", stats.total_spent}}},
               {"sessions", sessions.total},
               {"last_login_at",
                sessions.items.empty() ? json() : json(to_iso8601(sessions.items[0].created_at))},
               {"apps", std::move(owned)},
               {"movements", encode_movements(tx, ledger::user_account(user->id))}}};
}

Reply list_users(db::Tx& tx, const Call& call, const Services&) {
  return {.body =
              encode_page("users", accounts::list_users(tx, call.query("q"), call.page()), encode)};
}

Reply list_admins(db::Tx& tx, const Call&, const Services&) {
  json admins = json::array();
  for (const accounts::Admin& admin : accounts::list_admins(tx))
    admins.push_back({{"id", admin.id},
                      {"username", admin.username},
                      {"role", admin.role},
                      {"totp_enabled", admin.totp_enabled},
                      {"suspended", admin.suspended}});
  return {.body = {{"admins", std::move(admins)}}};
}

Reply promote_user(db::Tx& tx, const Call& call, const Services&) {
  accounts::Promotion promotion = {.tier = text_or_nothing(call.body, "tier"), .is_admin = {}};
  if (call.body.contains("is_admin")) promotion.is_admin = call.body["is_admin"].get<bool>();
  if (call.body.contains("admin_role")) {
    const json& role = call.body["admin_role"];
    if (role.is_null() && promotion.is_admin == true)
      throw invalid_field("admin_role", "is one of the roles if is_admin is true");
    if (role.is_null())
      promotion.is_admin = false;
    else
      promotion.admin_role = role.get<accounts::AdminRole>();
  }
  if (!promotion.tier && !promotion.is_admin && !promotion.admin_role)
    throw invalid_field("tier", "is required");
  return envelope(accounts::promote(tx, call.id(), promotion, call.admin));
}

// Nobody with less than the role `admin` locks an admin out.
void require_may_act_on(db::Tx& tx, const Call& call) {
  const auto user = accounts::find(tx, call.id());
  if (user && user->is_admin && call.admin_role != accounts::AdminRole::admin)
    throw Error(Code::forbidden, "this account belongs to an admin; it needs the role admin");
}

Reply suspend_user(db::Tx& tx, const Call& call, const Services& services) {
  require_may_act_on(tx, call);
  return envelope(accounts::suspend(tx, call.id(), call.admin, services.keys));
}

Reply reactivate_user(db::Tx& tx, const Call& call, const Services&) {
  require_may_act_on(tx, call);
  return envelope(accounts::reactivate(tx, call.id(), call.admin));
}

Reply end_user_sessions(db::Tx& tx, const Call& call, const Services& services) {
  require_may_act_on(tx, call);
  const accounts::EndedWays ended =
      accounts::end_ways_in_as_admin(tx, call.id(), call.admin, services.keys, services.base_url);
  return {.body = {{"message", "all sessions and tokens of the account have ended"},
                   {"sessions", ended.sessions},
                   {"devices", ended.tokens.programs},
                   {"apps", ended.tokens.apps}}};
}

Reply rotate_session_key(const Call& call, const Services& services) {
  const std::string id = services.logins.rotate_session_key();
  services.db.write([&](db::Tx& tx) { audit::record(tx, call.admin, "session_key.rotate", id); });
  return {.body = {{"kid", id}}};
}

constexpr Param search_query[] = {
    {.name = "q",
     .description = "Returns only users whose address or username begins with this "
                    "text, or whose username contains it and who aren't suspended.",
     .example = "ada"}};

constexpr Route rows[] = {
    {.request = "GET /api/internal/users",
     .name = "listUsers",
     .tag = "Internal",
     .summary = "List all accounts, newest first",
     .text = "Lists the accounts with their balances, newest first.",
     .guards = every_admin,
     .paged = true,
     .query = search_query,
     .answer = {200, "InternalUserList"},
     .served_by = {"berth admin users list", "/console/admin"},
     .run = ReadHandler{list_users}},
    {.request = "GET /api/internal/users/{id}",
     .name = "getAnyUser",
     .tag = "Internal",
     .summary = "Show an account: its apps, its points, its logins",
     .text = "Returns the account with the newest 50 of its apps and what they have, the newest 20 "
             "movements of its points without what people wrote about them, and how many sessions "
             "it has. The id of a guest who was merged into an account leads to that account.",
     .guards = every_admin,
     .in_path = {&account_in_path},
     .answer = {200, "InternalUserDetails"},
     .errors = {Code::user_not_found},
     .served_by = {"berth admin show", "/console/admin"},
     .run = ReadHandler{get_user}},
    {.request = "GET /api/internal/admins",
     .name = "listAdmins",
     .tag = "Internal",
     .summary = "List the admins and their roles",
     .text = "Lists the accounts that have a role, the first 200.",
     .guards = every_admin,
     .answer = {200, "AdminList"},
     .served_by = {"berth admin admins", "/console/admin"},
     .run = ReadHandler{list_admins}},
    {.request = "POST /api/internal/users/{id}/promote",
     .name = "promoteUser",
     .tag = "Internal",
     .summary = "Change an account's tier, or whether it belongs to an admin, and to which",
     .text = "Changes the fields that are sent: the tier, the right to use the admin pages, or the "
             "role of an admin. The audit log has the role before and after. The last admin who "
             "has the role admin and isn't suspended keeps it.",
     .guards = admins_in_person,
     .stores = Stores::administration,
     .in_path = {&account_in_path},
     .body = {"PromoteUserRequest"},
     .answer = {200, "InternalUserEnvelope"},
     .errors = {Code::user_not_found, Code::tier_not_found, Code::invalid_state,
                Code::guest_account},
     .served_by = {"berth admin users promote", "/console/admin"},
     .run = WriteHandler{promote_user}},
    {.request = "POST /api/internal/users/{id}/suspend",
     .name = "suspendUser",
     .tag = "Internal",
     .summary = "Suspend an account: its sessions and tokens end, and the campaigns of its apps "
                "aren't shown",
     .text = "Suspends the account until it is reactivated, and ends all of its sessions and "
             "tokens. A mail tells the user. Deployments of its apps keep running.",
     .guards = admins_and_support,
     .stores = Stores::administration,
     .in_path = {&account_in_path},
     .answer = {200, "InternalUserEnvelope"},
     .errors = {Code::user_not_found},
     .served_by = {"berth admin suspend", "/console/admin"},
     .run = WriteHandler{suspend_user}},
    {.request = "POST /api/internal/users/{id}/reactivate",
     .name = "reactivateUser",
     .tag = "Internal",
     .summary = "Reactivate a suspended account",
     .text = "Ends the suspension. What the suspension has ended doesn't come back: the user logs "
             "in again.",
     .guards = admins_and_support,
     .stores = Stores::administration,
     .in_path = {&account_in_path},
     .answer = {200, "InternalUserEnvelope"},
     .errors = {Code::user_not_found},
     .served_by = {"berth admin reactivate", "/console/admin"},
     .run = WriteHandler{reactivate_user}},
    {.request = "DELETE /api/internal/users/{id}/sessions",
     .name = "endUserSessions",
     .tag = "Internal",
     .summary = "End all sessions of an account, and all tokens that act for it",
     .text = "Ends all sessions of the account, the tokens of berth's own client and of apps that "
             "act for the user, and mailed links for a new password. The password, the second "
             "factor and consents to apps stay. A mail tells the user what has ended.",
     .guards = admins_and_support,
     .stores = Stores::administration,
     .in_path = {&account_in_path},
     .answer = {200, "EndedWays"},
     .errors = {Code::user_not_found},
     .served_by = {"berth admin users end-sessions", "/console/admin"},
     .run = WriteHandler{end_user_sessions}},
    {.request = "POST /api/internal/session-keys/rotate",
     .name = "rotateSessionKey",
     .tag = "Internal",
     .summary = "Sign session JWTs with a new key from now on; sessions stay valid",
     .text = "Creates a key for new session JWTs. Old keys stay until the sessions that they "
             "signed have ended.",
     .guards = admins,
     .stores = Stores::administration,
     .answer = {200, "SessionKey"},
     .served_by = {"berth admin rotate-session-key", "/console/admin"},
     .run = FreeHandler{rotate_session_key}},
};

}  // namespace

std::span<const Route> user_admin_routes() { return rows; }

}  // namespace berth::api
