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
// Returns the number of the newest transaction, or 0 if there is none. A write that reads it has a
// serialization failure when another one adds a transaction.
std::int64_t newest_transaction(db::Tx& tx);
// Adds the transaction behind all others of its millisecond, and returns its number. `newest` is
// what newest_transaction() returned. Throws Error `unavailable` if the others have taken all
// places, or if there are no numbers for the time.
std::int64_t add_transaction(db::Tx& tx, const TransactionRow& row, std::int64_t newest);
// Adds the transaction at a place that PostgreSQL's trigger ledger_transactions_places chooses, and
// returns its number. Places rise from call to call over all writes and begin again after 2^20, so
// nothing is read; a place that is taken violates the key, and the write is retried. Throws like
// add_transaction().
std::int64_t add_transaction_by_sequence(db::Tx& tx, const TransactionRow& row);

}  // namespace berth::ledger
