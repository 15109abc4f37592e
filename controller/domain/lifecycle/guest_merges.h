#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/error.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/items/account_merge.h"
#include "controller/domain/social/account_merge.h"

// Merging a guest into an account that their player has already. What the guest has comes to the
// account, by the rules of social/account_merge.h and items/account_merge.h; nothing that a preview
// hasn't shown is merged. docs/decisions/accounts.md says why it is so.
namespace berth::guests {

struct Merge {
  accounts::User guest;
  accounts::User account;
  std::string app_id;       // the app that made the guest
  std::int64_t points = 0;  // that the guest has
  social::AccountMerge people;
  items::AccountMerge items;
  // Why it isn't possible at present; empty if it is.
  std::vector<Error> obstacles;
  // A hash of all of it, which changes whenever something else would be done.
  std::string fingerprint;
};

// Says what merging the guest into the account would do, and changes nothing. Throws invalid_state
// if the one isn't a guest, or the other isn't an account with a way in.
Merge preview_merge(db::Tx& tx, const std::string& guest_id, const std::string& account_id);

// Does what a preview with this fingerprint has said, in one transaction. The guest's points go to
// the account by a ledger transaction of kind guest_merged. Their tokens and sessions end, because
// nobody has consented to the app in the account's name. Their row stays, as that of a deleted
// account, and names the account (accounts/merged_guests.h). The app gets the event guest.merged,
// and the audit log has an entry. Throws preview_outdated if something else would be done now,
// invalid_state, and the first obstacle. Of two merges at once, one works.
Merge merge(db::Tx& tx, const std::string& guest_id, const std::string& account_id,
            const std::string& fingerprint);

}  // namespace berth::guests
