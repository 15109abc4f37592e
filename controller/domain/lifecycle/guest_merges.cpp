#include "controller/domain/lifecycle/guest_merges.h"

#include <nlohmann/json.hpp>

#include "controller/base/crypto.h"
#include "controller/domain/accounts/guests.h"
#include "controller/domain/accounts/merged_guests.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::guests {
namespace {

accounts::User get_account(db::Tx& tx, const std::string& id) {
  auto account = accounts::find(tx, id);
  if (!account || account->is_guest || account->suspended)
    throw Error(Code::invalid_state, "a guest can only be merged into an account that works");
  return std::move(*account);
}

std::vector<Error> obstacles_of(db::Tx& tx, const Merge& merge) {
  std::vector<Error> all;
  if (!merge.account.email_verified)
    all.emplace_back(Code::email_not_verified, "verify the account's email address first");
  if (merged_into(tx, merge.account.id).size() >= size_t(max_merged))
    all.emplace_back(Code::invalid_state, std::to_string(max_merged) +
                                              " guests were merged into this account already, "
                                              "which is the limit");
  for (const std::string& sentence : merge.people.refusals)
    all.emplace_back(Code::invalid_state, sentence);
  const std::int64_t balance = ledger::balance(tx, ledger::user_account(merge.account.id));
  if (merge.points > ledger::max_points - balance ||
      merge.items.refund > ledger::max_points - balance - merge.points)
    all.emplace_back(Code::invalid_state, "the account would have more points than 2^53-1");
  // The treasury's row isn't read without need, because other writes change it all the time.
  if (merge.items.refund > 0 && merge.items.refund > ledger::balance(tx, ledger::treasury()))
    all.emplace_back(Code::invalid_state,
                     "the treasury has too few points to give back what the guest has paid for "
                     "items that both own; try again later");
  return all;
}

void move_points(db::Tx& tx, const Merge& merge) {
  const ledger::Account account = ledger::user_account(merge.account.id);
  ledger::open_account(tx, account);
  if (merge.points < 1) return;
  if (!ledger::post(tx, {.kind = merge_kind,
                         .from = ledger::user_account(merge.guest.id),
                         .to = account,
                         .amount = merge.points,
                         .memo = "the points of a guest"}))
    throw db::Overtaken("the guest has spent points meanwhile");
}

}  // namespace

Merge preview_merge(db::Tx& tx, const std::string& guest_id, const std::string& account_id) {
  auto guest = accounts::find(tx, guest_id);
  const auto app_id = app_of(tx, guest_id);
  if (!guest || !app_id)
    throw Error(Code::invalid_state, "this account isn't a guest's, or no longer one");
  Merge merge = {.guest = std::move(*guest),
                 .account = get_account(tx, account_id),
                 .app_id = *app_id,
                 .points = ledger::balance(tx, ledger::user_account(guest_id)),
                 .people = social::plan_merge(tx, guest_id, account_id),
                 .items = items::plan_merge(tx, guest_id, account_id),
                 .obstacles = {},
                 .fingerprint = {}};
  merge.obstacles = obstacles_of(tx, merge);
  merge.fingerprint =
      base64url(sha256(guest_id + "\n" + account_id + "\n" + std::to_string(merge.points) + "\n" +
                       merge.people.contents() + merge.items.contents()));
  return merge;
}

Merge merge(db::Tx& tx, const std::string& guest_id, const std::string& account_id,
            const std::string& fingerprint) {
  tx.require_serializable();
  Merge merge = preview_merge(tx, guest_id, account_id);
  if (!merge.obstacles.empty()) throw Error(merge.obstacles.front());
  if (merge.fingerprint != fingerprint)
    throw Error(Code::preview_outdated,
                "something has changed since the preview, so that the merge would do something "
                "else; look at a new preview");
  move_points(tx, merge);
  social::merge(tx, merge.people);
  items::merge(tx, merge.items);
  accounts::end_merged_guest(tx, merge.guest);
  set_merged_into(tx, guest_id, account_id);
  webhooks::emit(tx, merge.app_id, "guest.merged", guest_id,
                 {{"guest_id", guest_id}, {"user_id", account_id}});
  audit::record(tx, account_id, "guest.merge", guest_id,
                nlohmann::json{{"user_id", account_id},
                               {"app_id", merge.app_id},
                               {"points", merge.points},
                               {"refunded", merge.items.refund}}
                    .dump());
  merge.account = get_account(tx, account_id);
  return merge;
}

}  // namespace berth::guests
