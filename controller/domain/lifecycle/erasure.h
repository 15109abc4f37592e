#pragma once

#include <string>

#include "controller/base/clock.h"
#include "controller/db/database.h"

// What a deleted account leaves in rows that have to stay, because the ledger, budgets or other
// people's rows name them: the texts in them are emptied. Much of it may be there (an app that many
// used has millions of ledger rows), so that it goes in batches: the first in the transaction that
// deletes the account, the others by the expiry loop. Deployments keep their names until nothing of
// them is left on the cluster.
//
// docs/deleted-accounts.md says for each table what happens.
namespace berth::erasure {

inline constexpr int first_batch = 500;  // rows, in the transaction that deletes the account
// How long after a look that found something on the cluster there is another one.
inline constexpr Duration look_again_after = std::chrono::minutes(1);

// For accounts::delete_account, after all apps of the user were removed.
void begin(db::Tx& tx, const std::string& user_id);

// Whether erase_some() would find anything. Writes nothing.
bool is_due(db::Tx& tx);
// Changes `limit` rows, more or less. Returns how many; 0 where nothing is due.
int erase_some(db::Tx& tx, int limit);

}  // namespace berth::erasure
