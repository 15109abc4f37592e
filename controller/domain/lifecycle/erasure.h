#pragma once

#include <string>

#include "controller/base/clock.h"
#include "controller/db/database.h"

// Erasing the texts of deleted accounts and apps from rows that must stay, because the ledger,
// budgets or other people's rows refer to them. There may be many of them (an app with many users
// has millions of ledger rows), so they are erased in batches: the first one in the transaction
// that deletes the account or the app, the others by the expiry loop. Deployments keep their names
// until nothing of them is left on the cluster.
//
// docs/deleted-accounts.md says what happens to each table.
namespace berth::erasure {

inline constexpr int first_batch = 500;  // rows, in the transaction that deletes
// How long to wait before looking again at an account that still had something on the cluster, or
// whose memos couldn't be emptied because rows of the ledger are being moved.
inline constexpr Duration look_again_after = std::chrono::minutes(1);

// Begins the erasure of a deleted app's texts; called by apps::remove().
void begin_app(db::Tx& tx, const std::string& app_id);

// Begins the erasure; called by accounts::delete_account after all apps of the user were removed.
void begin(db::Tx& tx, const std::string& user_id);
// The same, but nothing is erased before the loop does it: for several users in one transaction.
void begin_later(db::Tx& tx, const std::string& user_id);

// Whether erase_some() would change a row. Writes nothing.
bool is_due(db::Tx& tx);
// Erases about `limit` rows of one app or account and returns their number; 0 if nothing is due.
int erase_some(db::Tx& tx, int limit);

}  // namespace berth::erasure
