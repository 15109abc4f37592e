#pragma once

#include "controller/db/database.h"

// Sessions, mailed tokens and other rows about accounts that nobody can use any more. Whether they
// can be used is decided by the clock; removing them keeps the tables as large as what is alive.
namespace berth::accounts {

// Whether remove_old() would find anything. Writes nothing.
bool is_any_old(db::Tx& tx);
// Removes at most `limit` rows. Returns how many; fewer than `limit` if nothing is left.
int remove_old(db::Tx& tx, int limit);

}  // namespace berth::accounts
