#include "controller/domain/lifecycle/user_admin.h"

#include "controller/base/error.h"
#include "controller/domain/accounts/returning_users.h"
#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/items/avatars.h"
#include "controller/domain/items/learning.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/lifecycle/erasure.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/social/social_life.h"

namespace berth::accounts {
namespace {

User get(db::Tx& tx, const std::string& id) {
  auto user = find(tx, id);
  if (!user) throw Error(Code::user_not_found, "there is no such user");
  return std::move(*user);
}

// Throws invalid_state if one of the apps has deployments.
void remove_apps(db::Tx& tx, const std::string& owner_id) {
  constexpr int max_apps = PageRequest::max_size;
  static_assert(max_apps >= apps::max_apps_per_account);
  for (const apps::App& app :
       apps::list_owned(tx, owner_id, {.page = 1, .page_size = max_apps}).items)
    apps::remove(tx, app);
}

void empty_ledger_account(db::Tx& tx, const User& user) {
  if (user.points < 1) return;
  ledger::open_account(tx, ledger::treasury());
  ledger::post(tx, {.kind = "account_deleted",
                    .from = ledger::user_account(user.id),
                    .to = ledger::treasury(),
                    .amount = user.points,
                    .memo = "the balance of a deleted account"});
}

}  // namespace

User promote(db::Tx& tx, const std::string& id, const Promotion& promotion,
             const std::string& actor) {
  get(tx, id);
  if (promotion.tier) {
    if (!tiers::find_by_slug(tx, *promotion.tier))
      throw Error(Code::tier_not_found, "there is no such tier");
    tx.execute("UPDATE users SET tier = $2, updated_at = $3 WHERE id = $1", id, *promotion.tier,
               tx.now());
    audit::record(tx, actor, "user.promote", id, "{\"tier\":\"" + *promotion.tier + "\"}");
  }
  if (promotion.is_admin) {
    tx.execute("UPDATE users SET is_admin = $2, updated_at = $3 WHERE id = $1", id,
               *promotion.is_admin, tx.now());
    audit::record(tx, actor, *promotion.is_admin ? "user.make_admin" : "user.unmake_admin", id);
  }
  return get(tx, id);
}

User suspend(db::Tx& tx, const std::string& id, const std::string& actor) {
  if (!get(tx, id).suspended) {
    tx.execute("UPDATE users SET suspended_at = $2, updated_at = $2 WHERE id = $1", id, tx.now());
    campaigns::owner_changed(tx, id);
    audit::record(tx, actor, "user.suspend", id);
  }
  return get(tx, id);
}

User reactivate(db::Tx& tx, const std::string& id, const std::string& actor) {
  if (get(tx, id).suspended) {
    tx.execute("UPDATE users SET suspended_at = NULL, updated_at = $2 WHERE id = $1", id, tx.now());
    campaigns::owner_changed(tx, id);
    audit::record(tx, actor, "user.reactivate", id);
  }
  return get(tx, id);
}

void delete_account(db::Tx& tx, const User& user, const Keys& keys) {
  remove_apps(tx, user.id);
  empty_ledger_account(tx, user);
  two_factor::forget(tx, user.id);
  connections::disconnect_all(tx, user.id);
  social::forget(tx, user.id);
  avatars::forget(tx, user.id);
  learning::forget(tx, user.id);
  for (const char* sql :
       {"DELETE FROM email_tokens WHERE user_id = $1",
        "DELETE FROM login_networks WHERE user_id = $1", "DELETE FROM sessions WHERE user_id = $1",
        "DELETE FROM idempotency_keys WHERE principal = 'user:' || $1"})
    tx.execute(sql, user.id);
  tx.execute("DELETE FROM outbox WHERE to_address = $1", user.email);
  if (user.email_verified) remember_address(tx, user.email, keys.data);
  tx.execute(
      "UPDATE users SET email = '', email_key = 'deleted:' || id, username = 'deleted', "
      "username_key = 'deleted:' || id, password_hash = '', referral_code = 'deleted:' || id, "
      "referred_by = NULL, email_verified_at = NULL, is_admin = 0, suspended_at = $2, "
      "deleted_at = $2, updated_at = $2 WHERE id = $1",
      user.id, tx.now());
  erasure::begin(tx, user.id);
}

}  // namespace berth::accounts
