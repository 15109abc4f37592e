#include "controller/domain/lifecycle/user_admin.h"

#include <array>
#include <limits>

#include "controller/base/error.h"
#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/email_changes.h"
#include "controller/domain/accounts/guests.h"
#include "controller/domain/accounts/merged_guests.h"
#include "controller/domain/accounts/returning_users.h"
#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/apps/members.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/items/avatars.h"
#include "controller/domain/items/learning.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/idempotency_keys.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/lifecycle/erasure.h"
#include "controller/domain/lifecycle/ways_in.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/personal_tokens.h"
#include "controller/domain/oauth/play_sessions.h"
#include "controller/domain/social/account_deletion.h"

namespace berth::accounts {
namespace {

void forget_answers(db::Tx& tx, const std::string& user_id) {
  idempotency_keys::forget(tx, idempotency_keys::user_principal(user_id),
                           std::numeric_limits<int>::max());
}

// Each module whose rows about a user are deleted together with the account registers here. Rows of
// which there may be many are deleted in batches later (erasure.cpp).
constexpr std::array forget_user = {two_factor::forget,      connections::disconnect_all,
                                    devices::forget,         play::forget,
                                    personal_tokens::forget, social::forget,
                                    avatars::forget,         learning::forget,
                                    apps::forget_member,     forget_answers};

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
  tx.require_serializable();
  if (user.points < 1) return;
  ledger::open_account(tx, ledger::treasury());
  ledger::post(tx, {.kind = "account_deleted",
                    .from = ledger::user_account(user.id),
                    .to = ledger::treasury(),
                    .amount = user.points,
                    .memo = "the balance of a deleted account"});
}

// Removes what belongs to a guest alone, and their place among the app's guests.
void end_guest(db::Tx& tx, const User& guest) {
  tx.require_serializable();
  const auto app_id = guests::app_of(tx, guest.id);
  if (!app_id) throw Error(Code::invalid_state, "the account isn't a guest's");
  forget_rows(tx, guest.id);
  mark_deleted(tx, guest.id);
  guests::count_left(tx, *app_id);
}

// What is left of the guests who were merged into an account goes with it, in batches.
void erase_merged_guests(db::Tx& tx, const std::string& account_id) {
  for (const std::string& id : guests::merged_into(tx, account_id)) {
    erasure::begin_later(tx, id);
    guests::look_again(tx, id, tx.now() + guests::row_kept_for);
  }
}

}  // namespace

void forget_rows(db::Tx& tx, const std::string& user_id) {
  for (const auto forget : forget_user) forget(tx, user_id);
}

User promote(db::Tx& tx, const std::string& id, const Promotion& promotion,
             const std::string& actor) {
  const User user = get(tx, id);
  if (user.is_guest && (promotion.is_admin == true || promotion.admin_role))
    throw Error(Code::guest_account, "a guest can't be an admin");
  if (promotion.tier) {
    if (!tiers::find_by_slug(tx, *promotion.tier))
      throw Error(Code::tier_not_found, "there is no such tier");
    set_tier(tx, id, *promotion.tier);
    audit::record(tx, actor, "user.promote", id, "{\"tier\":\"" + *promotion.tier + "\"}");
  }
  if (promotion.admin_role) {
    if (promotion.is_admin == false)
      throw invalid_field("admin_role", "is none if is_admin is false");
    give_admin_role(tx, id, promotion.admin_role, actor);
  } else if (promotion.is_admin) {
    const auto kept = user.admin_role.value_or(AdminRole::admin);
    give_admin_role(tx, id, *promotion.is_admin ? std::optional(kept) : std::nullopt, actor);
  }
  return get(tx, id);
}

User suspend(db::Tx& tx, const std::string& id, const std::string& actor, const Keys& keys) {
  const User user = get(tx, id);
  if (!user.suspended) {
    set_suspended(tx, id, true);
    const EndedWays ended = end_ways_in(tx, id);
    campaigns::owner_changed(tx, id);
    audit::record(tx, actor, "user.suspend", id);
    send(tx, user, keys, suspension_letter(user, in_words(ended, user.language)));
  }
  return get(tx, id);
}

User reactivate(db::Tx& tx, const std::string& id, const std::string& actor) {
  if (get(tx, id).suspended) {
    // Accounts may have been suspended by a version that ended nothing.
    end_ways_in(tx, id);
    set_suspended(tx, id, false);
    campaigns::owner_changed(tx, id);
    audit::record(tx, actor, "user.reactivate", id);
  }
  return get(tx, id);
}

void delete_account(db::Tx& tx, const User& user, const Keys& keys) {
  tx.require_serializable();
  require_other_admin(tx, user.id);
  remove_apps(tx, user.id);
  empty_ledger_account(tx, user);
  forget_rows(tx, user.id);
  outbox::forget(tx, user.email);
  for (const std::string& address : email_changes::addresses(tx, user.id))
    outbox::forget(tx, address);
  if (user.email_verified) remember_address(tx, user.email, keys.data);
  mark_deleted(tx, user.id);
  erasure::begin(tx, user.id);
  erase_merged_guests(tx, user.id);
}

void delete_guest(db::Tx& tx, const User& guest) {
  empty_ledger_account(tx, guest);
  end_guest(tx, guest);
  erasure::begin(tx, guest.id);
  guests::look_again(tx, guest.id, tx.now() + guests::row_kept_for);
}

void end_merged_guest(db::Tx& tx, const User& guest) {
  end_guest(tx, guest);
  guests::look_again(tx, guest.id, std::nullopt);
}

}  // namespace berth::accounts
