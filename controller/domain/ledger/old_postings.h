#pragma once

#include <optional>

#include "controller/base/error.h"
#include "controller/domain/ledger/ledger.h"

// Transactions and postings that a berthd before migration 0052 wrote. They are in tables of
// their own, `ledger_transactions_old` and `ledger_postings_old`, until they are moved in batches,
// newest first. Balances and sums by day don't depend on them; histories and audits do, and refuse
// what they can't answer. A batch is moved completely or not at all, so a move that was interrupted
// continues where it was.
namespace berth::ledger {

struct OldRows {
  std::int64_t postings = 0;  // about how many there were at first
  std::int64_t moved = 0;     // how many of them are moved
  std::int64_t left() const { return postings - moved; }
};
// How far the move has come. Returns nothing once it is over, or if there was nothing to move.
std::optional<OldRows> old_rows(db::Tx& tx);
// Throws Error `unavailable`, with the time after which to try again, while old rows are left.
void require_no_old_rows(db::Tx& tx);
// The time of the newest of all old rows if the account may have some of them: if something was
// posted on it on that day or before.
std::optional<Instant> newest_old_posting(db::Tx& tx, const Account& account);
// Returns the error with which a request is refused that needs old rows: the one that
// require_no_old_rows() throws.
Error old_rows_needed();

// Whether move_old_rows() has anything to do.
bool has_old_tables(db::Tx& tx);
// Moves at most `limit` transactions with all of their postings; the first calls drop an index of
// the old tables each. When no rows are left, removes the tables. Throws std::exception, and the
// caller's transaction must change nothing, if a row can't be moved; that doesn't happen with rows
// that berthd wrote.
void move_old_rows(db::Tx& tx, int limit);

}  // namespace berth::ledger
