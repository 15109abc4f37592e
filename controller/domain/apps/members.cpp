#include "controller/domain/apps/members.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/domain/apps/app_rows.h"
#include "controller/domain/apps/invitations.h"
#include "controller/domain/apps/member_mail.h"
#include "controller/domain/apps/member_rows.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/webhooks/alerts.h"

namespace berth::apps {
namespace {

SecurityEvent refused(const char* reason) {
  return {.kind = SecurityKind::access_refused, .reason = reason};
}

// The ids of the apps that the user $1 owns or is a member of.
const std::string select_app_ids = R"(
        SELECT id FROM apps WHERE owner_id = $1 AND deleted_at IS NULL
        UNION
        SELECT app_id FROM app_members WHERE user_id = $1)";

// Returns the user's membership; nothing if they have none.
std::optional<Membership> membership_in(db::Tx& tx, const std::string& user_id, const App& app) {
  if (app.owner_id == user_id) return Membership{.app = app, .role = Role::owner};
  auto member = find_member(tx, app.id, user_id);
  if (!member) return std::nullopt;
  return Membership{
      .app = app,
      .role = member->role,
      .deployments = std::move(member->deployments).value_or(std::vector<std::string>())};
}

Member get_member(db::Tx& tx, const App& app, const std::string& user_id) {
  auto member = find_member(tx, app.id, user_id);
  if (!member) throw Error(Code::user_not_found, "the app has no such member");
  return *std::move(member);
}

void refuse_for_holder(const App& app, const std::string& user_id) {
  if (app.owner_id == user_id)
    throw Error(Code::invalid_state,
                "the app belongs to this account; transfer the app to another member first");
}

// Alerts are for admins of the app.
void forget_alerts(db::Tx& tx, const App& app, const std::string& user_id) {
  alerts::remove_of_app(tx, user_id, app.id);
  note_spend_wishes(tx, app.owner_id);
}

void record(db::Tx& tx, const MemberChange& by, const char* action, const std::string& app_id,
            const nlohmann::json& details) {
  audit::record(tx, by.actor.id, action, app_id, details.dump());
}

}  // namespace

std::optional<std::vector<std::string>> deployments_of(const db::Query& row) {
  const auto text = row.text_or_null("deployments");
  if (!text) return std::nullopt;
  return nlohmann::json::parse(*text).get<std::vector<std::string>>();
}

std::optional<std::string> stored_deployments(
    const std::optional<std::vector<std::string>>& deployments) {
  return deployments ? std::optional(nlohmann::json(*deployments).dump()) : std::nullopt;
}

// The database checks that the column has a role's name.
Role role_in(const db::Query& row) { return parse_enum<Role>(row.text("role")).value(); }

std::optional<Member> find_member(db::Tx& tx, const std::string& app_id,
                                  const std::string& user_id) {
  auto rows = tx.query(
      R"(
      SELECT m.user_id, u.username, m.role, m.deployments, m.inserted_at
      FROM app_members m
      JOIN users u ON u.id = m.user_id
      WHERE m.app_id = $1 AND m.user_id = $2)",
      app_id, user_id);
  if (!rows.next()) return std::nullopt;
  return Member{.user_id = rows.text("user_id"),
                .username = rows.text("username"),
                .role = role_in(rows),
                .deployments = deployments_of(rows),
                .inserted_at = rows.instant("inserted_at")};
}

void check_deployments(Role role, const std::optional<std::vector<std::string>>& deployments) {
  if (!deployments) return;
  if (!may_be_limited(role))
    throw invalid_field("deployments", "can't be given for the role " +
                                           std::string(to_string(role)) +
                                           ", which concerns the whole app");
  if (deployments->empty() || deployments->size() > max_deployments_of_member)
    throw invalid_field("deployments", "must be 1 to " + std::to_string(max_deployments_of_member) +
                                           " ids of deployments, or null for all");
}

Membership manage(db::Tx& tx, const MemberChange& by, const std::string& app_id) {
  tx.require_serializable();
  Membership own = membership(tx, by.actor.id, app_id);
  require_role(own, Role::admin);
  return own;
}

void require_manages(Role own, Role other) {
  if (may_manage(own, other)) return;
  throw with_event(
      Error(Code::forbidden, other == Role::owner
                                 ? "only an owner of the app may do this; this needs the role owner"
                                 : "this needs the role admin in the app"),
      refused("role"));
}

Membership membership(db::Tx& tx, const std::string& user_id, const std::string& app_id) {
  const auto app = find(tx, app_id);
  if (!app) throw Error(Code::app_not_found, "there is no such app");
  auto found = membership_in(tx, user_id, *app);
  if (!found)
    throw with_event(Error(Code::forbidden, "this app belongs to another operator"),
                     refused("of_another_app"));
  return *std::move(found);
}

void require_role(const Membership& membership, Role least) {
  if (includes(membership.role, least)) return;
  throw with_event(
      Error(Code::forbidden, "this needs the role " + std::string(to_string(least)) +
                                 " in the app " + membership.app.app_name + "; yours is " +
                                 std::string(to_string(membership.role))),
      refused("role"));
}

App require_member(db::Tx& tx, const std::string& user_id, const std::string& app_id, Role least) {
  Membership own = membership(tx, user_id, app_id);
  require_role(own, least);
  if (!own.deployments.empty())
    throw Error(Code::forbidden,
                "this concerns the whole app, and you may only use some of its deployments");
  return std::move(own.app);
}

bool may_use(db::Tx& tx, const std::string& user_id, const std::string& app_id,
             const std::string& deployment_id) {
  const auto app = find(tx, app_id);
  const auto own = app ? membership_in(tx, user_id, *app) : std::nullopt;
  return own && (own->deployments.empty() ||
                 std::ranges::find(own->deployments, deployment_id) != own->deployments.end());
}

Membership choose(db::Tx& tx, const std::string& user_id, const std::string& wanted) {
  if (!wanted.empty()) {
    const auto by_client_id = find_by_client_id(tx, wanted);
    return membership(tx, user_id, by_client_id ? by_client_id->id : wanted);
  }
  Page<App> own = list_owned(tx, user_id, {.page = 1, .page_size = 2});
  if (own.total == 1) return {.app = std::move(own.items.front()), .role = Role::owner};
  if (own.total == 0) {
    Page<Membership> others = list_mine(tx, user_id, {.page = 1, .page_size = 2});
    if (others.total == 1) return std::move(others.items.front());
    if (others.total == 0)
      throw Error(Code::app_not_found, "you have no app yet; create one first");
  }
  throw Error(Code::malformed_request,
              "you have several apps; name one by its id or client_id in the header Berth-App");
}

Page<Membership> list_mine(db::Tx& tx, const std::string& user_id, const PageRequest& page) {
  static const ListSql sql = {
      .count = R"(
        SELECT count(*)
        FROM (SELECT 1 AS one FROM apps WHERE id IN ()" +
               select_app_ids + R"() AND deleted_at IS NULL LIMIT $2) counted)",
      .rows = select_apps + R"(
        WHERE id IN ()" +
              select_app_ids + R"() AND deleted_at IS NULL AND (inserted_at, id) < ($2, $3)
        ORDER BY inserted_at DESC, id DESC
        LIMIT $4 OFFSET $5)",
      .sorted_by = {{SortColumn::Type::integer, "inserted_at"}, {SortColumn::Type::text, "id"}}};
  Page<App> found = read_page(tx, sql, page, app_of, user_id);
  Page<Membership> result = {.items = {}, .page = found.page, .page_size = found.page_size};
  result.total = found.total;
  result.total_is_at_least = found.total_is_at_least;
  result.next = std::move(found.next);
  for (const App& app : found.items)
    result.items.push_back(membership_in(tx, user_id, app).value());
  return result;
}

std::vector<Membership> all_mine(db::Tx& tx, const std::string& user_id) {
  constexpr int most = max_apps_per_account + max_memberships_of_account;
  static_assert(most <= PageRequest::max_size);
  return list_mine(tx, user_id, {.page = 1, .page_size = most}).items;
}

std::vector<Member> members(db::Tx& tx, const App& app) {
  // The account that the app belongs to may have a row, from before the app was transferred to it.
  auto rows = tx.query(
      R"(
      SELECT u.id AS user_id, u.username, 'owner' AS role, NULL AS deployments,
             coalesce(m.inserted_at, $3) AS inserted_at, 0 AS place
      FROM users u
      LEFT JOIN app_members m ON m.app_id = $1 AND m.user_id = u.id
      WHERE u.id = $2
      UNION ALL
      SELECT m.user_id, u.username, m.role, m.deployments, m.inserted_at, 1 AS place
      FROM app_members m
      JOIN users u ON u.id = m.user_id
      WHERE m.app_id = $1 AND m.user_id <> $2
      ORDER BY place, inserted_at, user_id)",
      app.id, app.owner_id, app.inserted_at);
  std::vector<Member> all;
  while (rows.next())
    all.push_back({.user_id = rows.text("user_id"),
                   .username = rows.text("username"),
                   .role = role_in(rows),
                   .deployments = deployments_of(rows),
                   .inserted_at = rows.instant("inserted_at")});
  return all;
}

Member change_member(db::Tx& tx, const MemberChange& by, const std::string& app_id,
                     const std::string& user_id, const RoleChange& change) {
  const Membership own = manage(tx, by, app_id);
  refuse_for_holder(own.app, user_id);
  const Member before = get_member(tx, own.app, user_id);
  const Role role = change.role.value_or(before.role);
  require_manages(own.role, before.role);
  require_manages(own.role, role);
  auto deployments = change.deployments.value_or(before.deployments);
  // A role that can't be limited is for the whole app, unless the request says otherwise.
  if (!change.deployments && !may_be_limited(role)) deployments.reset();
  check_deployments(role, deployments);
  if (role == before.role && deployments == before.deployments) return before;
  tx.require_change(
      R"(
      UPDATE app_members
      SET role = $3, deployments = $4, updated_at = $5
      WHERE app_id = $1 AND user_id = $2)",
      app_id, user_id, to_string(role), stored_deployments(deployments), tx.now());
  if (role < before.role) withdraw_invitations_by(tx, app_id, user_id);
  if (!includes(role, Role::admin)) forget_alerts(tx, own.app, user_id);
  record(tx, by, "app.member_change", app_id,
         {{"user_id", user_id},
          {"from", to_string(before.role)},
          {"to", to_string(role)},
          {"deployments", deployments ? nlohmann::json(*deployments) : nlohmann::json()}});
  const Member after = get_member(tx, own.app, user_id);
  if (user_id != by.actor.id) tell_role_changed(tx, by, own.app, after);
  return after;
}

void remove_member(db::Tx& tx, const MemberChange& by, const std::string& app_id,
                   const std::string& user_id) {
  tx.require_serializable();
  const Membership own = membership(tx, by.actor.id, app_id);
  refuse_for_holder(own.app, user_id);
  const bool leaves = user_id == by.actor.id;
  if (!leaves) require_role(own, Role::admin);
  const Member member = get_member(tx, own.app, user_id);
  if (!leaves) require_manages(own.role, member.role);
  tx.require_change(R"(DELETE FROM app_members WHERE app_id = $1 AND user_id = $2)", app_id,
                    user_id);
  withdraw_invitations_by(tx, app_id, user_id);
  forget_alerts(tx, own.app, user_id);
  record(tx, by, leaves ? "app.member_leave" : "app.member_remove", app_id,
         {{"user_id", user_id}, {"role", to_string(member.role)}});
  if (!leaves) tell_removed(tx, by, own.app, user_id);
}

void require_room_for_membership(db::Tx& tx, const std::string& user_id) {
  if (tx.number(R"(SELECT count(*) FROM app_members WHERE user_id = $1)", user_id) >=
      max_memberships_of_account)
    throw Error(Code::invalid_state, "you are already a member of " +
                                         std::to_string(max_memberships_of_account) + " apps");
}

bool is_any_member(db::Tx& tx, const std::string& user_id) {
  return tx.number(R"(SELECT 1 FROM app_members WHERE user_id = $1 LIMIT 1)", user_id) > 0;
}

bool is_member(db::Tx& tx, const std::string& app_id, const std::string& user_id) {
  return find_member(tx, app_id, user_id).has_value();
}

void forget_member(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(DELETE FROM app_members WHERE user_id = $1)", user_id);
  forget_invitations_of_user(tx, user_id);
}

}  // namespace berth::apps
