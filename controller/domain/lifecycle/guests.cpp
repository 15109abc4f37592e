#include "controller/domain/lifecycle/guests.h"

#include <algorithm>

#include "controller/domain/accounts/guests.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/guest_tokens.h"

namespace berth::guests {
namespace {

// In one transaction: the removal of one changes some dozen tables.
constexpr int most_at_once = 20;

void remove_unless_refreshable(db::Tx& tx, const std::string& guest_id) {
  if (const auto until = oauth::guest_refreshable_until(tx, guest_id)) {
    look_again(tx, guest_id, until);
    return;
  }
  if (const auto guest = accounts::find(tx, guest_id)) accounts::delete_guest(tx, *guest);
}

void remove_row_if_possible(db::Tx& tx, const std::string& guest_id) {
  if (has_ledger_account(tx, guest_id)) {
    look_again(tx, guest_id, std::nullopt);
  } else if (has_rows(tx, guest_id)) {
    look_again(tx, guest_id, tx.now() + row_kept_for);
  } else {
    accounts::forget_rows(tx, guest_id);
    connections::forget_count(tx, guest_id);
    remove_row(tx, guest_id);
  }
}

}  // namespace

accounts::User upgrade(db::Tx& tx, const std::string& guest_id,
                       const accounts::Registration& registration,
                       const accounts::SignupBonus& bonus, const Keys& keys,
                       const std::string& base_url, const oauth::Policy& policy) {
  accounts::User user = accounts::become_account(tx, guest_id, registration, bonus, keys, base_url);
  oauth::keep_tokens_of_guest(tx, guest_id, policy.family_lifetime);
  return user;
}

int remove_due(db::Tx& tx, int limit) {
  tx.require_serializable();
  const auto found = due(tx, std::min(limit, most_at_once));
  for (const Due& one : found) {
    if (one.is_removed)
      remove_row_if_possible(tx, one.user_id);
    else
      remove_unless_refreshable(tx, one.user_id);
  }
  return int(found.size());
}

}  // namespace berth::guests
