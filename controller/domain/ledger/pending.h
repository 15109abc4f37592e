#pragma once

#include <cstdint>
#include <functional>

#include "controller/db/database.h"
#include "controller/domain/kernel/loop.h"

// Credits that aren't in the rows of their account yet.
//
// On PostgreSQL, of serializable writes that change one row at the same time, all but one fail and
// are retried. If many users spend in one app at once, its row would let one spend succeed at a
// time. So there a credit to an app or the treasury only adds a row of its own to `ledger_pending`.
// A loop calls fold() again and again, which adds these rows to the account's row and to those of
// its days (days.h). All functions of the module that read a balance or a sum add what is pending,
// so nobody sees whether something is. On SQLite nothing is ever pending, except what a database
// that was moved from PostgreSQL contains.
namespace berth::ledger {

// How many pending credits fold() takes at most, so that a debit of one of the accounts doesn't
// wait for long.
inline constexpr int folded_at_once = 1'000;

// Whether fold() would find a credit.
bool is_any_pending(db::Tx& tx);
// Returns how many credits are pending. Reads an entry of an index for each of them.
std::int64_t count_pending(db::Tx& tx);
// Adds at most folded_at_once pending credits to the rows of their accounts. Returns their number.
// Works in any write; in Database::write_with_row_locks() it is never retried because of writes
// that add credits. If two run at the same time, each credit is added by one of them.
int fold(db::Tx& tx);
// Calls fold() in writes of their own until it has taken fewer than it may, or `is_stopping` says
// so. Returns the number of credits. Throws Error `unavailable` if the database can't be used.
int fold_in_batches(
    db::Database& database, const std::function<bool()>& is_stopping = [] { return false; });
// Adds all of them where none become pending: they came with a database from PostgreSQL. Otherwise
// it does nothing. For a database that nobody else uses.
void fold_foreign(db::Tx& tx);
// Adds what is pending, until a batch isn't full. Returns the number of credits. Throws Error
// `unavailable` if the database can't be used.
int fold_pending(Round& round);
// Calls fold_pending() ten times a second.
Loop pending_loop();

}  // namespace berth::ledger
