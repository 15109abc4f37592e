#pragma once

#include "controller/base/clock.h"
#include "controller/db/database.h"

// Removes rows that can no longer be used: codes, tokens, families, consents, sessions, mailed
// links, known networks, unsent mail, stored answers, holds, old chat, old orders of certificates,
// and addresses of accounts that were deleted a year ago. Whether such a row may be used is always
// decided by its time, so removing it only bounds the size of the tables. The texts of deleted
// accounts (erasure.h) are erased here, too.
namespace berth::expiry {

// A token's row is kept for this long after the token has expired, so that its bearer is told
// "expired" or "revoked" rather than "unknown". It is the longest lifetime of an access token.
inline constexpr Duration told_for = std::chrono::hours(1);
// How long the first answer to a request with an Idempotency-Key is stored.
inline constexpr Duration answers_kept_for = std::chrono::hours(24);

// How long mail is kept that was never tried to be sent. In development, people read it in the
// outbox.
inline constexpr Duration unsent_mail_kept_for = std::chrono::days(90);

// How long a hold's row is kept after it was closed.
inline constexpr Duration holds_kept_for = std::chrono::hours(24);

// Whether remove_some() would remove a row. Writes nothing.
bool is_anything_due(db::Tx& tx);
// Removes rows that are due: at most `limit`, but with families whose last tokens are among them.
// Returns how many it removed; fewer than `limit` if nothing is left.
int remove_some(db::Tx& tx, int limit);

}  // namespace berth::expiry
