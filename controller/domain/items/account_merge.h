#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"

// What becomes of a guest's cosmetics, avatar and learning when they are merged into an account
// (lifecycle/guest_merges.h). The rules:
//
//   - An item comes to the account. Of an item that both own, the account's stays, and the treasury
//     gives back what the guest has paid for theirs.
//   - The avatar's display name and appearance come to the account if it has none of its own, and
//     each item that the guest wears is put on if the account wears none of its category.
//   - Of a module that both have begun, the progress that is further stays: the account's if it has
//     completed the module once; else the guest's if they have; else the one with more steps. What
//     was completed as a guest was completed without a reward.
//   - The learning path comes to the account if it has chosen none.
namespace berth::items {

struct AccountMerge {
  std::string guest_id;
  std::string account_id;

  std::vector<std::string> moved = {};  // the ids of items that come to the account
  std::vector<std::string> both = {};   // the ids of items that both own
  std::int64_t refund = 0;              // what the guest has paid for these, in points

  bool has_avatar = false;  // the account has one
  std::optional<std::string> display_name = {};
  std::optional<std::string> appearance = {};
  std::vector<std::string> put_on = {};  // the ids of the items that the account will wear, too
  bool drops_display_name = false, drops_appearance = false;  // the account has another one

  std::vector<std::string> modules = {};  // the ids of those of which the guest is further
  int modules_kept = 0;                   // of which the account's progress stays
  std::optional<std::string> path = {};

  // All of it as a text, the same for the same changes.
  std::string contents() const;
};
// Says what would be done, and changes nothing.
AccountMerge plan_merge(db::Tx& tx, const std::string& guest_id, const std::string& account_id);
// Does it, and gives `refund` back by a ledger transaction of kind cosmetic_refund. What is left of
// the guest has to be removed by avatars::forget() and learning::forget(). Needs a plan of the same
// transaction. Throws invalid_state if the treasury has too few points.
void merge(db::Tx& tx, const AccountMerge& plan);

}  // namespace berth::items
