#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/enum_text.h"
#include "controller/db/database.h"

// What an admin of the platform may do. The rows of the table of routes (api/gate/route.h) say
// which roles may call an operation below /api/internal/.
namespace berth::accounts {

// `admin`: everything. `support`: reads, suspends and reactivates, and gives back few points.
// `finance`: reads, the treasury, refunds and claw-backs, and the prices of tiers.
enum class AdminRole { admin, support, finance };
constexpr auto texts_of(AdminRole) {
  return EnumTexts<AdminRole::finance>{"admin", "support", "finance"};
}

// Gives the user the role, or none, in the audit log with the roles before and after. `actor` is
// who does it. Does nothing if the user has that role already. Needs a serializable write. Throws
// user_not_found; and invalid_state if nobody else would be left who has the role `admin` and isn't
// suspended.
void give_admin_role(db::Tx& tx, const std::string& user_id, std::optional<AdminRole> role,
                     const std::string& actor);

// Throws invalid_state if the user is the only one with the role `admin` who isn't suspended, so
// that they can't delete their account. Needs a serializable write.
void require_other_admin(db::Tx& tx, const std::string& user_id);

// How many admins list_admins() returns at most.
inline constexpr int max_listed_admins = 200;
struct Admin {
  std::string id;
  std::string username;
  AdminRole role = AdminRole::admin;
  bool totp_enabled = false;
  bool suspended = false;
};
// Returns the users with a role, in the order of their registration.
std::vector<Admin> list_admins(db::Tx& tx);

}  // namespace berth::accounts
