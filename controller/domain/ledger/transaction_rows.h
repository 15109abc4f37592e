#pragma once

#include "controller/domain/ledger/numbers.h"

// Writes rows of transactions. Private to the module.
namespace berth::ledger {

struct TransactionRow {
  std::string id;         // a UUID
  std::int64_t kind = 0;  // its number
  std::string_view memo;
  Instant at;
};
// Returns the number of the newest transaction, or 0 if there is none. On PostgreSQL it returns 0
// without reading, because a write that reads the newest transaction has a serialization failure
// when another one adds a transaction.
std::int64_t newest_transaction(db::Tx& tx);
// Adds the transaction behind all others of its millisecond, and returns its number. `newest` is
// what newest_transaction() returned. Throws Error `unavailable` if the others have taken all
// places, or if there are no numbers for the time. On PostgreSQL places rise from call to call over
// all writes and begin again after 2^20, so nothing is read; a place that is taken violates the
// key, and the write is retried.
std::int64_t add_transaction(db::Tx& tx, const TransactionRow& row, std::int64_t newest);

}  // namespace berth::ledger
