#pragma once

#include <string>
#include <vector>

#include "controller/db/database.h"

// What becomes of a guest's friends, requests, blocks and channels when they are merged into an
// account (lifecycle/guest_merges.h). The rules:
//
//   - A friend or request comes to the account, with its id.
//   - Of a friend whom both have, the account's friendship stays. A friendship comes before a
//     request between the same two people.
//   - Of two requests in opposite directions, the one stays that the other person has sent, because
//     it can be accepted. Of two in the same direction, the account's stays.
//   - Blocks by the guest, and of the guest, come to the account, and end what they end otherwise.
//     A block comes before a friendship of either of the two.
//   - What is between the guest and the account itself ends.
//   - Memberships of channels come to the account. Presence, and requests and friendships that were
//     rejected or ended, don't.
namespace berth::social {

struct AccountMerge {
  std::string guest_id;
  std::string account_id;

  struct Move {
    std::string friendship_id;
    std::string other_id;
  };
  std::vector<Move> moves = {};             // of friendships and requests
  std::vector<std::string> blocked = {};    // whom the account will have blocked, and hasn't yet
  std::vector<std::string> blockers = {};   // who will have blocked the account, and haven't yet
  std::vector<std::string> separated = {};  // from whom these blocks separate the account
  std::vector<std::string> channels = {};   // that the account will join

  // How many friendships and requests come to the account, how many both have, and how many of
  // either one end because of a block.
  int friends_moved = 0, friends_shared = 0, friends_ended = 0;
  int requests_moved = 0, requests_shared = 0, requests_ended = 0;

  // Why the merge isn't possible: sentences that name a limit of the account.
  std::vector<std::string> refusals = {};
  // All of it as a text, the same for the same changes.
  std::string contents() const;
};
// Says what would be done, and changes nothing. Reads all friends, blocks and channels of the guest
// and all blocks of the account.
AccountMerge plan_merge(db::Tx& tx, const std::string& guest_id, const std::string& account_id);
// Does it. What is left of the guest has to be removed by forget() (account_deletion.h). Needs a
// plan of the same transaction, without refusals.
void merge(db::Tx& tx, const AccountMerge& plan);

}  // namespace berth::social
