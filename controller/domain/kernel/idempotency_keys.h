#pragma once

#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/db/database.h"

// The first answers to requests with an Idempotency-Key, which are given again when such a request
// is repeated. An answer is committed together with what the request did.
namespace berth::idempotency_keys {

// How long an answer is kept.
inline constexpr Duration kept_for = std::chrono::hours(24);
// A longer answer is kept once for all keys of the caller that get it, so that a key takes no more
// room than this and its own text.
inline constexpr size_t longest_in_row = 1'024;

// Who asked, as the rows name them: a user, an app for a user, or an admin's program.
std::string user_principal(const std::string& user_id);
std::string app_principal(const std::string& app_id, const std::string& user_id);
inline constexpr const char* internal_principal = "internal";

// What a key belongs to.
struct Slot {
  std::string principal;
  std::string method;
  std::string path;
  std::string key;
  std::string request_hash;  // the hash of the body; bodies themselves aren't stored
};
struct Answer {
  std::string request_hash;  // the hash of the first request, which may differ from the slot's
  int status = 0;
  std::string body;
};
// The answer that is stored for the slot, if it is younger than kept_for.
std::optional<Answer> find(db::Tx& tx, const Slot& slot);
// Returns what find() does, and otherwise reserves the slot for this write, which then either calls
// keep() or is rolled back. On PostgreSQL, looking up a missing key would cause serialization
// failures with all writes that store a key beside it; inserting a row doesn't. On SQLite nothing
// is written.
std::optional<Answer> find_or_reserve(db::Tx& tx, const Slot& slot);
// Stores the answer. Replaces one that is too old but hasn't been removed yet.
void keep(db::Tx& tx, const Slot& slot, int status, const std::string& body);

// Whether remove_old() would find an answer.
bool is_any_old(db::Tx& tx);
// Deletes at most `limit` answers that are older than kept_for. Returns their number.
int remove_old(db::Tx& tx, int limit);

// Both delete at most `limit` answers and return their number: those to the principal, and those to
// internal_principal whose path or body contains `id`.
int forget(db::Tx& tx, const std::string& principal, int limit);
int forget_internal(db::Tx& tx, const std::string& id, int limit);

}  // namespace berth::idempotency_keys
