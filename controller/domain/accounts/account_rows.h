#pragma once

#include <string>
#include <string_view>

#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"

// How users are read from the database. Private to this module.
namespace berth::accounts {

// The beginning of a statement whose rows user_of() reads, about `users u` and `ledger_accounts a`.
inline const std::string select_users = R"(
      SELECT u.id, u.email, u.username, u.tier, u.is_admin, u.admin_role, u.email_verified_at,
             u.totp_enabled_at, u.suspended_at, coalesce(a.balance, 0) AS points, u.referral_code,
             (SELECT count(*) FROM passkeys p WHERE p.user_id = u.id) AS passkeys,
             u.registration_number, u.signup_multiplier, u.language, u.created_at,
             u.guest_of
      FROM users u
      LEFT JOIN ledger_accounts a ON a.kind = 'user' AND a.owner = u.id)";
User user_of(const db::Query& row);

}  // namespace berth::accounts
