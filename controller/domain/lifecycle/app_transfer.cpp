// An app goes to another account.
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/accounts/bonuses.h"
#include "controller/domain/accounts/guests.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/apps/app_changes.h"
#include "controller/domain/apps/member_mail.h"
#include "controller/domain/apps/members.h"
#include "controller/domain/deployments/new_owner.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/ledger/ledger.h"

namespace berth::apps {
namespace {

// Returns the account if it can have the app: it is a member's.
accounts::User receiver(db::Tx& tx, const App& app, const std::string& user_id) {
  if (app.owner_id == user_id)
    throw Error(Code::invalid_state, "the app already belongs to this account");
  if (!is_member(tx, app.id, user_id))
    throw Error(Code::user_not_found, "the app has no such member");
  const auto user = accounts::find(tx, user_id);
  if (!user) throw Error(Code::user_not_found, "the app has no such member");
  if (user->suspended || !user->email_verified)
    throw Error(Code::invalid_state,
                "the member can't have the app, because their account is suspended or its address "
                "isn't verified");
  return *user;
}

void require_room(db::Tx& tx, const std::string& user_id) {
  if (list_owned(tx, user_id, {.page = 1, .page_size = 1}).total >= max_apps_per_account)
    throw Error(Code::app_limit_reached, "the member's account already has " +
                                             std::to_string(max_apps_per_account) +
                                             " apps, which is the limit");
}

}  // namespace

App transfer(db::Tx& tx, const MemberChange& by, const std::string& app_id,
             const std::string& user_id) {
  tx.require_serializable();
  const Membership own = membership(tx, by.actor.id, app_id);
  if (own.app.owner_id != by.actor.id)
    throw Error(Code::forbidden,
                "only the account that the app belongs to can give it to somebody else");
  const accounts::User to = receiver(tx, own.app, user_id);
  // Others may be about to count what the accounts have.
  accounts::lock(tx, to.id);
  require_room(tx, to.id);
  // The owner may spend what the app has, as if it had been given to them.
  bonuses::let_reach(tx, to.id, ledger::bonus(tx, ledger::app_account(app_id)));
  // The actor stays an owner, from now on as a member.
  if (!is_member(tx, app_id, by.actor.id)) require_room_for_membership(tx, by.actor.id);
  change_owner(tx, own.app, to.id);
  deployments::give_to(tx, app_id, to.id, by.keys.data);
  campaigns::give_to(tx, app_id, to.id);
  guests::give_count(tx, app_id, by.actor.id, to.id);
  note_spend_wishes(tx, to.id);
  audit::record(tx, by.actor.id, "app.transfer", app_id,
                nlohmann::json{{"from", by.actor.id}, {"to", to.id}}.dump());
  tell_transferred(tx, by, own.app, to);
  return find(tx, app_id).value();
}

}  // namespace berth::apps
