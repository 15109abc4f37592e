#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/db/database.h"

// Guests who were merged into an account (lifecycle/guest_merges.h). The row of such a guest is
// that of a deleted account, and names the account that they are now, as long as that account is
// there: the ledger, receipts and apps go on naming the guest's id. What still arrives for the
// guest is passed on.
namespace berth::guests {

// How many guests may be merged into one account, because each leaves a row.
inline constexpr int max_merged = 100;

// Says which account the guest is now. The guest's row must have been marked as deleted.
void set_merged_into(db::Tx& tx, const std::string& guest_id, const std::string& account_id);
// The account that the guest is now; the id itself if it isn't that of a merged guest. The account
// may have been deleted since.
std::string account_of(db::Tx& tx, const std::string& id);
// The ids of all guests who were merged into the account, and of those that an app had made.
std::vector<std::string> merged_into(db::Tx& tx, const std::string& account_id);
std::vector<std::string> merged_into(db::Tx& tx, const std::string& account_id,
                                     const std::string& app_id);

// The kind of the ledger transactions between a merged guest's account and that of the account that
// they are now.
inline constexpr const char* merge_kind = "guest_merged";
// Moves all points that the guest's ledger account has to the account that the guest is now:
// points of a spend that an app gives back are posted on the account that had spent them, as any
// refund. Does nothing for other users.
void pass_on_points(db::Tx& tx, const std::string& id);
// The opposite, before points are taken back that the guest was given: moves so many from the
// account to the guest. Returns false if the account has too few. Returns true, and moves nothing,
// for other users.
bool fetch_points(db::Tx& tx, const std::string& id, std::int64_t points);

}  // namespace berth::guests
