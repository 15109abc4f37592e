#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/loop.h"

// The chain of the audit log, by which a removed or changed entry is found.
//
// A loop gives each entry the next number, within about a second, and a hash that covers the entry
// and the hash before it. So a removed entry leaves a number out, and a changed one has a hash that
// doesn't fit. What may have to be erased with a person (who, by which token, from where, in which
// request, and the details) isn't hashed itself but by a commitment, which is the hash of a random
// salt and these texts. When they are erased, the commitment takes the place of the salt: the chain
// can still be checked, and without the salt nobody can try out which texts it was made of.
//
// Whoever can write the database can also write a new chain. It then differs from the checkpoints
// in berthd's log, and from the entries that somebody has fetched with their hashes, such as by the
// stream for a SIEM. Entries of the last moments, which have no number yet, aren't covered.
namespace berth::audit {

// How many entries are chained in one transaction.
inline constexpr int chained_at_once = 200;
// A checkpoint is made after so many entries, and when a UTC day with entries is over.
inline constexpr std::int64_t entries_of_checkpoint = 1'000;

// Gives at most chained_at_once entries their places. Returns how many got one. Only one process at
// a time may do it (the loop's lease).
int chain_some(db::Tx& tx);
bool is_any_unchained(db::Tx& tx);
// Stores a checkpoint behind the last entry if one is due, also if no entry follows: otherwise the
// entries before a long quiet time would stay until it is over. Returns whether it was due. The
// same process as for chain_some() has to do it.
bool store_due_checkpoint(db::Tx& tx);
bool is_any_checkpoint_due(db::Tx& tx);
// Chains what was recorded and stores checkpoints, once a second.
Loop chain_loop();

// The end of the chain.
struct Head {
  std::int64_t number = 0;
  std::string chain;  // SHA-256 in hex; empty while the chain has no entry
};
Head head(db::Tx& tx);

// A place from which the chain is checked.
struct Checkpoint {
  std::int64_t number = 0;  // of the last entry before it
  std::string chain;
  Instant at;
};
// The checkpoints with greater numbers, at most `limit` of them, in their order.
std::vector<Checkpoint> checkpoints(db::Tx& tx, std::int64_t after, int limit);

// An entry of the chain with its hash.
struct Link {
  Entry entry;
  std::string chain;
};
// At most `limit` entries with greater numbers, in the order of these. Who has read up to a number
// misses none that comes later.
std::vector<Link> links(db::Tx& tx, std::int64_t after, int limit);

// What a part of the chain was found to be.
struct Check {
  std::int64_t first = 0;  // the numbers of the entries that were looked at; 0 if none was
  std::int64_t last = 0;
  std::int64_t erased = 0;  // of how many something was erased, so that only the rest was checked
  // Sentences, at most most_violations of them. None means that nothing was removed or changed.
  std::vector<std::string> violations;
  bool is_end = false;  // whether `last` is the end of the chain
};
inline constexpr std::size_t most_violations = 20;
inline constexpr int most_checked = 5'000;
// Checks the entries behind number `after`, at most most_checked of them; the chain's beginning if
// it is 0. To check all, call it again with `last` until is_end.
Check check(db::Tx& tx, std::int64_t after);

// An entry as the chain covers it: a JSON array of number, id, milliseconds since 1970, actor,
// action, operation, target kind, target, app, token kind and commitment. The chain's hash is the
// SHA-256 of the hash before it, a line end, and this text.
std::string text_of(const Entry& entry, std::int64_t number, const std::string& commitment);
// The SHA-256, in hex, of a JSON array of salt, user, token, network, request and details.
std::string commitment_of(const Entry& entry, const std::string& salt);

}  // namespace berth::audit
