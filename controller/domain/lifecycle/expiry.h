#pragma once

#include "controller/base/clock.h"
#include "controller/db/database.h"

// Rows that nobody can use any more: codes, tokens, families, consents, sessions, mailed links,
// known networks, unsent mail, kept answers, holds, old chat, old orders of certificates, addresses
// that were deleted a year ago. What decides about their use looks at the clock; removing them is
// for the size of the tables alone, which stay as large as what is alive. Behind them come the
// words of deleted accounts (erasure.h).
namespace berth::expiry {

// How long a token's row outlives the token, so that its bearer is told "expired" or "revoked" and
// not "unknown". The longest life of an access token.
inline constexpr Duration told_for = std::chrono::hours(1);
// How long the first answer to a request with an Idempotency-Key is kept.
inline constexpr Duration answers_kept_for = std::chrono::hours(24);

// How long mail stays that nobody tried to send: in development, people read it there.
inline constexpr Duration unsent_mail_kept_for = std::chrono::days(90);

// How long a hold's row is kept after it was closed.
inline constexpr Duration holds_kept_for = std::chrono::hours(24);

// Whether remove_some() would find anything. Writes nothing.
bool is_anything_due(db::Tx& tx);
// Removes rows that are due, `limit` at most but for families whose last tokens are among them.
// Returns how many; fewer than `limit` where nothing is left.
int remove_some(db::Tx& tx, int limit);

}  // namespace berth::expiry
