#pragma once

#include "controller/db/database.h"
#include "controller/domain/kernel/loop.h"

// Removes rows that nobody can use any more, in small batches. Each module knows which rows of its
// tables these are; expiry.cpp has the list of the modules. Code that decides whether a row can be
// used looks at the clock, so removing rows only keeps the tables small. The last on the list are
// the texts of deleted accounts (erasure.h).
namespace berth::expiry {

// Whether remove_some() would find anything. Writes nothing.
bool is_anything_due(db::Tx& tx);
// Removes at most `limit` rows that are due, not counting those of token families whose last token
// is among them. Returns how many; 0 if nothing is due.
int remove_some(db::Tx& tx, int limit);
// Removes everything that is due, at most `batch` rows in one transaction, which holds up other
// writes for some milliseconds. Returns how many rows. Throws Error `unavailable` if the database
// can't be used.
int remove_all(Round& round, int batch = 200);
// Calls remove_all() every ten seconds, which is about how long rows stay after they have expired.
Loop loop();

}  // namespace berth::expiry
