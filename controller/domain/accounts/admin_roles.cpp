#include "controller/domain/accounts/admin_roles.h"

#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/db/enum_column.h"
#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/audit.h"

namespace berth::accounts {
namespace {

nlohmann::json or_none(std::optional<AdminRole> role) {
  return role ? nlohmann::json(*role) : nlohmann::json();
}

std::int64_t other_admins(db::Tx& tx, const std::string& user_id) {
  return tx.number(R"(
      SELECT count(*)
      FROM users
      WHERE is_admin = 1 AND coalesce(admin_role, 'admin') = 'admin' AND suspended_at IS NULL
        AND id <> $1)",
                   user_id);
}

}  // namespace

void require_other_admin(db::Tx& tx, const std::string& user_id) {
  tx.require_serializable();
  const auto user = find(tx, user_id);
  if (!user || user->admin_role != AdminRole::admin) return;
  if (other_admins(tx, user_id) == 0)
    throw Error(Code::invalid_state,
                "this account is the last one with the role admin; give somebody else that role "
                "first");
}

void give_admin_role(db::Tx& tx, const std::string& user_id, std::optional<AdminRole> role,
                     const std::string& actor) {
  tx.require_serializable();
  const auto user = find(tx, user_id);
  if (!user) throw Error(Code::user_not_found, "there is no such user");
  if (user->admin_role == role) return;
  if (role != AdminRole::admin) require_other_admin(tx, user_id);
  set_admin_role(tx, user_id, role);
  audit::record(
      tx, actor, role ? "user.make_admin" : "user.unmake_admin", user_id,
      nlohmann::json{{"before", or_none(user->admin_role)}, {"after", or_none(role)}}.dump());
}

std::vector<Admin> list_admins(db::Tx& tx) {
  auto rows = tx.query(R"(
      SELECT id, username, coalesce(admin_role, 'admin') AS admin_role, totp_enabled_at,
             suspended_at
      FROM users
      WHERE is_admin = 1
      ORDER BY registration_number
      LIMIT $1)",
                       max_listed_admins);
  std::vector<Admin> admins;
  while (rows.next())
    admins.push_back({.id = rows.text("id"),
                      .username = rows.text("username"),
                      .role = db::enum_of<AdminRole>(rows, "admin_role"),
                      .totp_enabled = !rows.null("totp_enabled_at"),
                      .suspended = !rows.null("suspended_at")});
  return admins;
}

}  // namespace berth::accounts
