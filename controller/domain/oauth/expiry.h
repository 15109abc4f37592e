#pragma once

#include "controller/base/clock.h"
#include "controller/db/database.h"

// Codes, tokens, families and consents that nobody can use any more, personal tokens
// (personal_tokens.h) included. Whether they can be used is
// decided by the clock; removing their rows keeps the tables as large as what is alive.
namespace berth::oauth {

// How long an expired or revoked token's row is kept, so that its bearer is told "expired" or
// "revoked" instead of "unknown". It is the longest life of an access token.
inline constexpr Duration expired_kept_for = std::chrono::hours(1);

// Whether remove_old() would find anything. Writes nothing.
bool is_any_old(db::Tx& tx);
// Removes at most `limit` rows, not counting those of a family whose last token is among them: such
// a family goes as a whole. Returns the number of rows; fewer than `limit` if nothing is left.
int remove_old(db::Tx& tx, int limit);

}  // namespace berth::oauth
