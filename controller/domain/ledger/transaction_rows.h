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
// Adds the transaction at this place of its millisecond (transaction_places.h), and returns its
// number. The statement may wait. A place that is taken violates the key, and the write is retried.
// Throws like add_transaction().
std::int64_t add_transaction_at(db::Tx& tx, const TransactionRow& row, std::int64_t place);

}  // namespace berth::ledger
